// What group commit says of its barriers: how long each took, how many batches it answered, which failed.

import { expect, it } from "vitest";
import { BarrierMeter } from "../../src/log/barrier-meter.js";
import { GroupCommit } from "../../src/log/group-commit.js";
import { offset } from "../../src/model/ids.js";

it("measures barriers and the groups that they answer", async () => {
  let now = 0;
  let durable = 0;
  let breaks = false;
  const force = async () => {
    now += 5;
    if (breaks) throw new Error("EIO");
    durable = 100;
    return offset(durable);
  };
  const target = {
    force,
    logEndOffset: offset(100),
    get durableOffset() {
      return offset(durable);
    },
  };
  const nothing = () => undefined;
  const meter = new BarrierMeter(() => now);
  const commit = new GroupCommit(target, { started: nothing, moved: nothing, failed: nothing }, meter);
  const listener = { appended: nothing };
  for (let end = 1; end <= 3; end++) commit.add(listener, 0, end - 1, end);
  commit.start();
  await commit.idle();
  // For nobody in particular: it is a barrier and no group.
  commit.want();
  commit.start();
  await commit.idle();
  breaks = true;
  commit.want();
  commit.start();
  await commit.idle();
  expect([meter.durations.total, meter.durations.sum]).toEqual([2, 10_000]);
  expect([meter.groups.total, meter.groups.sum]).toEqual([1, 3]);
  expect(meter.failed).toBe(1);
});
