// Where the console begins.

import { render } from "preact";
import { App } from "./app.js";
import { listenToKeys } from "./lib/keys.js";
import { watchLink } from "./lib/link.js";
import "./style.css";

const place = document.getElementById("console");
if (place === null) throw new Error("the page has no place for the console");
listenToKeys();
void watchLink();
render(<App />, place);
