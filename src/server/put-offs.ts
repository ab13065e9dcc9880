// Sessions whose next answer was put off because too many bytes wait for peers that do not take them. Nothing tells when that
// is over, so they are looked at again after a while: by one timer for all, some at a time, the longest first, so that ten
// thousand of them cost no more than some hundred.

import type { Timers } from "../model/clock.js";
import { PUT_OFF_LOOKS, PUT_OFF_MS } from "../model/limits.js";
import type { Session } from "./session.js";

export class PutOffs {
  private sessions: Session[] = [];

  constructor(
    private readonly timers: Timers,
    /** It may be answered now, or be put off again. */
    private readonly look: (session: Session) => void,
  ) {}

  get count(): number {
    return this.sessions.length;
  }

  add(session: Session): void {
    if (session.putOff) return;
    session.putOff = true;
    this.sessions.push(session);
    if (this.sessions.length === 1) this.lookSoon();
  }

  private lookSoon(): void {
    this.timers.after(PUT_OFF_MS, () => {
      const some = this.sessions.splice(0, PUT_OFF_LOOKS);
      if (this.sessions.length > 0) this.lookSoon();
      for (const session of some) {
        session.putOff = false;
        this.look(session);
      }
    });
  }
}
