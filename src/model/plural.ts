// Counts in messages to people: "1 line", "2 lines". Without separators, so that a script can read them.

/** So many of what is called `unit` when there is one. */
export const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`;
