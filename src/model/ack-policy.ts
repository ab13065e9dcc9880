// When a producer is answered. The numbers are the wire's.

export const AckPolicy = { NONE: 0, WRITTEN: 1, FORCED: 2 } as const;
/** 0 = never answered; 1 = when the batch is written (survives the process, not a power cut); 2 = when it is forced to disk. */
export type AckPolicy = (typeof AckPolicy)[keyof typeof AckPolicy];
