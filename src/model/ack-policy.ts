// When a producer is answered. The numbers are the wire's.

export const AckPolicy = { NONE: 0, WRITTEN: 1, FORCED: 2 } as const;
/** 0 = never answered; 1 = when the batch is written (survives the process, not a power cut); 2 = when it is forced to disk. */
export type AckPolicy = (typeof AckPolicy)[keyof typeof AckPolicy];

const POLICIES = { none: AckPolicy.NONE, written: AckPolicy.WRITTEN, forced: AckPolicy.FORCED } as const;
/** The policies as they are called in settings, on the command line and in programs. */
export type AckName = keyof typeof POLICIES;

/** The policy that a name or a number stands for; undefined: it is neither. */
export function ackPolicyOf(value: unknown): AckPolicy | undefined {
  if (typeof value === "string") return Object.hasOwn(POLICIES, value) ? POLICIES[value as AckName] : undefined;
  return value === AckPolicy.NONE || value === AckPolicy.WRITTEN || value === AckPolicy.FORCED ? value : undefined;
}
