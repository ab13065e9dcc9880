// Takes the lock named by its argument, says so, and holds it until it is killed.

import { native } from "./addon.mjs";

const lock = native.lockFile(process.argv[2]);
console.log("held");
setInterval(() => lock, 1000);
