// Scans one segment with the addon as recovery does: structure, every sum, and an index entry for each interval.

import { native, RecordFormatId } from "../../src/native/binding.js";
import { printResult, sideFlags } from "../lib/side.js";

const flags = sideFlags("path", "format");
const format = RecordFormatId[flags.format as keyof typeof RecordFormatId];
const file = await native.openFile(flags.path, { writable: false });
const size = file.size();
const began = performance.now();
const { records, end } = await file.scan(format, 0, size, 4096);
const seconds = (performance.now() - began) / 1000;
file.close();
if (end !== size) throw new Error(`the scan ended at ${end} of ${size}`);
printResult({ records, bytes: end, seconds });
