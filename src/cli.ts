#!/usr/bin/env node
// The program `millrace`, with the addon for the sums of what it reads where there is one. What it does is in cli/.

import "./native-walker.js";
import "./cli/main.js";
