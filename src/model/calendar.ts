// Days as people write them.

/** Whether there is such a day: `Date` takes the 30th of February for the 2nd of March. */
export function isDay(written: string): boolean {
  const ms = Date.parse(`${written}T00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(written);
}
