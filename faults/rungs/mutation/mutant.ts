// What a mutant is: one edit to a copy of the sources that takes a safeguard away, and the rung that has to notice.

/** What was taken away. */
export type Safeguard = "barrier" | "order of publication" | "check" | "bound";

export interface Mutant {
  /** As on the page; names what is gone. */
  readonly name: string;
  readonly safeguard: Safeguard;
  /** Relative to the checkout. */
  readonly file: string;
  /** Stands there exactly once, or the mutant is out of date. */
  readonly from: string;
  readonly to: string;
  /** Which rung turns red, and with how much of it. */
  readonly rung: string;
  readonly rounds?: number;
  readonly seconds?: number;
  /**
   * Why no rung can see it on what this ladder has: another safeguard does the same work here. It is built and tried all the same; one that
   * is noticed after all is good news.
   */
  readonly covered?: string;
}

/** Makes mutants that are alike but for what they take away. */
export const alike =
  (common: Omit<Mutant, "name" | "file" | "from" | "to">) =>
  (name: string, file: string, from: string, to: string): Mutant => ({ name, file, from, to, ...common });

/** The text with the mutation. Throws when the place is not there, or there more than once. */
export function mutated(text: string, { name, file, from, to }: Mutant): string {
  const at = text.indexOf(from);
  if (at < 0) throw new Error(`mutant "${name}": ${file} does not have what it replaces: ${from}`);
  if (text.indexOf(from, at + 1) >= 0) throw new Error(`mutant "${name}": ${file} has what it replaces more than once`);
  return text.slice(0, at) + to + text.slice(at + from.length);
}
