/** The faults of a plan in words, and the kinds of them that users may choose from. */
import type { Fault, FaultType } from '@weir/simulation/faults/fault-plan';

/**
 * `process`: killed, stopped by SIGTERM, standing still, power cut, started twice · `thread`: a
 * thread dies · `task`: a task fails and is restarted · `disk`: slow, full, failing, losing answers
 * · `network`: nothing gets from thread to thread · `sink`: the system behind two-phase sinks is
 * down, loses answers, crashes · `clock`: the wall clock jumps.
 */
export type FaultKind = 'process' | 'thread' | 'task' | 'disk' | 'network' | 'sink' | 'clock';

const TYPES: Readonly<Record<FaultKind, readonly FaultType[]>> = {
  process: ['kill', 'powerFailure', 'suspend', 'pause', 'secondRun'],
  thread: ['killSlot'],
  task: ['fragile'],
  disk: ['slowDisk', 'diskErrors', 'lostAnswers', 'bitFlips', 'diskFull'],
  network: ['clog'],
  sink: ['outerDown', 'outerErrors', 'outerCrash'],
  clock: ['wallClock'],
};

export const FAULT_KINDS: readonly FaultKind[] = Object.keys(TYPES) as FaultKind[];

export function faultTypesOf(kinds: readonly FaultKind[]): readonly FaultType[] {
  return kinds.flatMap((kind) => TYPES[kind]);
}

/** After these, tasks begin anew; a sink or a disk that fails makes them. */
const RESTARTING: ReadonlySet<FaultType> = new Set([
  ...TYPES.process,
  ...TYPES.thread,
  ...TYPES.task,
  ...TYPES.sink,
  'diskErrors',
  'lostAnswers',
  'diskFull',
]);

export function restartsTasks({ type }: Fault): boolean {
  return RESTARTING.has(type);
}

export function faultWords(fault: Fault, forMs: number): string {
  const during = `for ${Math.round(forMs)} ms`;
  switch (fault.type) {
    case 'kill':
      return 'killed the process';
    case 'powerFailure':
      return 'cut the power: what was not synced to disk is lost';
    case 'killSlot':
      return `killed thread ${fault.slot}`;
    case 'suspend':
      return 'stopped the process with SIGTERM';
    case 'pause':
      return fault.looksDead
        ? `the process stood still ${during}, and another took over`
        : `the process stood still ${during}`;
    case 'secondRun':
      return 'started the job a second time beside itself';
    case 'clog':
      return `nothing got from thread to thread ${during}`;
    case 'slowDisk':
      return `the disk was slow ${during}`;
    case 'diskErrors':
      return `the disk failed now and then ${during}`;
    case 'lostAnswers':
      return `the disk did as asked, but answered with errors now and then ${during}`;
    case 'bitFlips':
      return `reading checkpoints brought damaged bytes now and then ${during}`;
    case 'diskFull':
      return `the disk was full ${during}`;
    case 'outerDown':
      return `the system behind the sinks was down ${during}`;
    case 'outerErrors':
      return `the system behind the sinks failed and lost answers now and then ${during}`;
    case 'outerCrash':
      return 'the system behind the sinks crashed: open transactions are gone';
    case 'wallClock':
      return `the wall clock jumped by ${fault.byMs} ms`;
    case 'fragile':
      return `reading the input failed now and then ${during}, so that tasks were restarted`;
    default:
      return unknownFault(fault);
  }
}

function unknownFault(fault: { readonly type: string }): string {
  return fault.type;
}
