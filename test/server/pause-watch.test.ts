// What the operator hears when the broker takes less than it is offered: once in a while, with how often, and when it is over.

import { describe, expect, it } from "vitest";
import { SELECTOR_COUNTERS, SelectorCounter } from "../../src/native/binding.js";
import { PauseWatch } from "../../src/server/pause-watch.js";
import { connectTo, spawnReady } from "../support/broker.js";
import { tempDir } from "../support/tmp.js";
import { metadata, Wire } from "../support/wire.js";

class Play {
  readonly counters = new Float64Array(SELECTOR_COUNTERS);
  readonly lines: unknown[] = [];
  private ms = 0;
  private readonly watch: PauseWatch;

  constructor() {
    const tell = ({ kind, times }: { kind?: string; times?: number }): void => {
      this.lines.push(times === undefined ? kind : `${kind} ${times}`);
    };
    const log = { debug: tell, info: tell, warn: tell, error: tell };
    this.watch = new PauseWatch(this.counters, log, () => this.ms, 3, 1000);
  }

  seconds(count: number, each: (second: number) => void = () => undefined): readonly unknown[] {
    for (let second = 0; second < count; second++) {
      each(second);
      this.watch.look();
      this.ms += 1000;
    }
    return this.lines.splice(0);
  }
}

describe("pauses", () => {
  it("of connections are told at once, then every ten seconds, and when there was none for ten", () => {
    const play = new Play();
    expect(play.seconds(3)).toEqual([]);
    const pause = () => {
      play.counters[SelectorCounter.PAUSES] += 100;
    };
    expect(play.seconds(1, pause)).toEqual(["connections.paused 100"]);
    expect(play.seconds(9, pause)).toEqual([]);
    expect(play.seconds(1, pause)).toEqual(["connections.paused 1000"]);
    expect(play.seconds(9)).toEqual([]);
    expect(play.seconds(1)).toEqual(["connections.resumed"]);
    expect(play.seconds(60)).toEqual([]);
    expect(play.seconds(1, pause)).toEqual(["connections.paused 100"]);
  });

  it("that end connections are told at once, then every ten seconds with how many, and not that they are over", () => {
    const play = new Play();
    const shed = () => {
      play.counters[SelectorCounter.SHED] += 5;
    };
    expect(play.seconds(3)).toEqual([]);
    expect(play.seconds(1, shed)).toEqual(["connections.shed 5"]);
    expect(play.seconds(9, shed)).toEqual([]);
    expect(play.seconds(60)).toEqual(["connections.shed 45"]);
  });

  it("of connections last while what is queued has not come down to where reading goes on", () => {
    const play = new Play();
    play.counters[SelectorCounter.OUTPUT_BYTES] = 900;
    expect(play.seconds(60)).toEqual([]);
    play.counters[SelectorCounter.PAUSES] = 1;
    expect(play.seconds(60)).toEqual(["connections.paused 1"]);
    play.counters[SelectorCounter.OUTPUT_BYTES] = 700;
    play.counters[SelectorCounter.GATHERED_BYTES] = 30;
    play.counters[SelectorCounter.EXTERNAL_QUEUED_BYTES] = 30;
    expect(play.seconds(60)).toEqual([]);
    play.counters[SelectorCounter.OUTPUT_BYTES] = 600;
    expect(play.seconds(9)).toEqual([]);
    expect(play.seconds(2)).toEqual(["connections.resumed"]);
    play.counters[SelectorCounter.OUTPUT_BYTES] = 900;
    expect(play.seconds(60)).toEqual([]);
  });

  it("of the listener last while there are as many connections as may be", () => {
    const play = new Play();
    play.counters[SelectorCounter.CONNECTIONS] = 3;
    play.counters[SelectorCounter.LISTENER_PAUSES] = 1;
    expect(play.seconds(120)).toEqual(["listener.paused 1"]);
    play.counters[SelectorCounter.CONNECTIONS] = 2;
    expect(play.seconds(9)).toEqual([]);
    expect(play.seconds(2)).toEqual(["listener.resumed"]);
  });

  it("of the listener stand in the log of a broker that has all the connections it may have", async () => {
    const settings = { "data.dir": tempDir("pauses"), port: 0, "ops.enabled": false, "connections.max": 2 };
    const broker = await spawnReady({ ...settings, "disk.reserve.bytes": 0 });
    const wires = [await connectTo(broker), await connectTo(broker)];
    await Promise.all(wires.map((wire) => wire.ask(metadata())));
    const third = await Wire.connect(broker.port);
    third.send(metadata());
    const told = () => broker.lines.filter(({ kind }) => kind === "listener.paused");
    await expect.poll(told, { timeout: 10_000 }).toMatchObject([{ level: "warn", times: 1, connections: 2 }]);
    wires[0].destroy();
    await third.response();
    third.destroy();
  });
});
