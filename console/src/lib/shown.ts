// Pages that nobody looks at ask nothing.

/** True while the page is hidden; `then` is called when it is shown, unless `signal` says that nobody wants it any more. */
export function postponed(then: () => Promise<void>, signal: AbortSignal): boolean {
  if (!document.hidden) return false;
  // What comes next while it is hidden is that it is shown.
  document.addEventListener("visibilitychange", () => void then(), { once: true, signal });
  return true;
}
