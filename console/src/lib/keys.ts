// Shortcuts: single keys, and `g` followed by one. They do nothing while somebody types, and can be turned off, because voice
// input and some screen readers send such keys by themselves.

import { useLayoutEffect } from "preact/hooks";
import { Store } from "./store.js";

export interface Shortcut {
  /** `?`, `/`, `Escape`, `g t`. */
  readonly keys: string;
  readonly what: string;
  readonly act: () => void;
}

const KEPT = "millrace.shortcuts";

function kept(): boolean {
  try {
    return localStorage.getItem(KEPT) !== "off";
  } catch {
    return true; // storage may be forbidden
  }
}

export const shortcutsOn = new Store(kept());

export function turnShortcuts(on: boolean): void {
  shortcutsOn.set(on);
  try {
    localStorage.setItem(KEPT, on ? "on" : "off");
  } catch {
    // It holds until the page is left.
  }
}

/** What works on every page. */
export const EVERYWHERE = "Everywhere";

const offered = new Map<string, readonly Shortcut[]>();

/** What works now, by the part of the page that offers it, the page's own first. The list under `?` shows it. */
export const shortcutGroups = (): readonly (readonly [group: string, shortcuts: readonly Shortcut[]])[] =>
  [...offered].sort(([a], [b]) => Number(a === EVERYWHERE) - Number(b === EVERYWHERE));

export function useShortcuts(group: string, shortcuts: readonly Shortcut[]): void {
  // With the page itself, not after it was painted: a key that is pressed as soon as the page is seen counts.
  useLayoutEffect(() => {
    offered.set(group, shortcuts);
    return () => {
      if (offered.get(group) === shortcuts) offered.delete(group);
    };
  });
}

const PREFIX_MS = 1_500;
let prefix = { key: "", at: 0 };

const types = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.matches("input, textarea, select") || target.isContentEditable);

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  if (types(event.target)) {
    if (event.key === "Escape") (event.target as HTMLElement).blur();
    return;
  }
  if (!shortcutsOn.get() || document.querySelector("dialog[open]") !== null) return;
  const since = event.timeStamp - prefix.at;
  const keys = prefix.key !== "" && since < PREFIX_MS ? `${prefix.key} ${event.key}` : event.key;
  prefix = { key: event.key === "g" && keys === "g" ? "g" : "", at: event.timeStamp };
  for (const shortcut of shortcutGroups().flatMap(([, shortcuts]) => shortcuts)) {
    if (shortcut.keys !== keys) continue;
    event.preventDefault();
    shortcut.act();
    return;
  }
}

export function listenToKeys(): void {
  document.addEventListener("keydown", onKey);
}
