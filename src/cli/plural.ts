// Counts in messages: "1 line", "2 lines". Without separators, so that a script can read them.

export const counted = (count: number, unit: string): string => `${count} ${unit}${count === 1 ? "" : "s"}`;
