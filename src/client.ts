// What `millrace/client` is: the client, with the addon for its sums where there is one. Nothing here has logic.

import "./native-walker.js";

export * from "./client/index.js";
