/**
 * Carries the faults of a plan out: each at its time, and undone after its span or at the healing.
 */
import type { Machine } from '../engine/machine.ts';
import type { Supervisor } from '../engine/supervisor.ts';
import type { OuterMood, OuterSystem } from '../jobs/outer-system.ts';
import type { Fault } from './fault-plan.ts';

export interface FaultTargets {
  readonly machine: Machine;
  readonly supervisor: Supervisor;
  readonly outer: Pick<OuterSystem<unknown>, 'crash'>;
  readonly outerMood: OuterMood;
  readonly fragility: { chance: number };
  readonly healAt: number;
}

export function injectFaults(faults: readonly Fault[], targets: FaultTargets): void {
  const { world } = targets.machine;
  for (const fault of faults)
    world.schedule(null, fault.at, `fault ${fault.type}`, () => injectNow(fault, targets));
}

/** At once, whatever its time; for faults that wait for an event. */
export function injectNow(fault: Fault, targets: FaultTargets): void {
  const { world } = targets.machine;
  const undo = carryOut(fault, targets);
  if (undo === null || !('forMs' in fault)) return;
  const forMs = Math.min(fault.forMs, Math.max(0, targets.healAt - world.now));
  world.schedule(null, forMs, `end of fault ${fault.type}`, undo);
}

function carryOut(fault: Fault, targets: FaultTargets): (() => void) | null {
  const { machine, supervisor, outer, outerMood, fragility } = targets;
  const { disk, link } = machine.moods;
  switch (fault.type) {
    case 'kill':
      return done(() => supervisor.kill());
    case 'powerFailure':
      return done(() => supervisor.powerFailure());
    case 'killSlot':
      return done(() => supervisor.killSlot(fault.slot));
    case 'suspend':
      return done(() => supervisor.suspend());
    case 'pause':
      return done(() => supervisor.pause(fault.forMs, fault.looksDead));
    case 'secondRun':
      return done(() => supervisor.startSecond());
    case 'clog':
      link.cloggedUntil = Math.max(link.cloggedUntil, machine.world.now + fault.forMs);
      return null;
    case 'partition':
      machine.partitions.cut(fault.slot, fault.direction, machine.world.now + fault.forMs);
      return null;
    case 'messages': {
      const undos = (['loss', 'duplication', 'lateness'] as const).map((name) =>
        whileSet(machine.messages, name, fault[name], 0),
      );
      return () => {
        for (const undo of undos) undo();
      };
    }
    case 'slowDisk':
      if (fault.slot !== undefined) return machine.slowDisk(fault.slot, fault.factor);
      return whileSet(disk, 'slowness', fault.factor, 1);
    case 'diskErrors':
      return whileSet(disk, 'failure', fault.chance, 0);
    case 'lostAnswers':
      return whileSet(disk, 'lostAnswer', fault.chance, 0);
    case 'bitFlips':
      return whileSet(disk, 'bitFlip', fault.chance, 0);
    case 'diskFull':
      return whileSet(disk, 'isFull', true, false);
    case 'outerDown':
      return whileSet(outerMood, 'isDown', true, false);
    case 'outerErrors': {
      const undo = whileSet(outerMood, 'lostAnswer', fault.chance, 0);
      const undoFailures = whileSet(outerMood, 'failure', fault.chance, 0);
      return () => {
        undo();
        undoFailures();
      };
    }
    case 'commitErrors':
      return whileSet(outerMood, 'commitFailure', fault.chance, 0);
    case 'outerCrash':
      return done(() => outer.crash());
    case 'wallClock':
      machine.wall.offsetMs += fault.byMs;
      return null;
    case 'fragile':
      return whileSet(fragility, 'chance', fault.chance, 0);
  }
}

function done(act: () => void): null {
  act();
  return null;
}

function whileSet<T, K extends keyof T>(mood: T, name: K, value: T[K], normal: T[K]): () => void {
  mood[name] = value;
  return () => {
    mood[name] = normal;
  };
}
