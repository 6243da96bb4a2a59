/**
 * What a job reads that is not in its input: the wall clock and random numbers. While a simulated
 * run lasts, `Date`, `performance.now`, `Math.random` and `crypto.randomUUID` tell the time and the
 * randomness of its world, which are others in every run: so a result that depends on them differs
 * from run to run, a failing seed can be repeated, and the message can name the line that asked.
 *
 * The globals are back before the run's promise resolves. Nothing but promises runs in between,
 * since the simulation never waits for a timer or for I/O.
 */
export interface Ambient {
  /** Milliseconds since the epoch. */
  wallTime(): number;
  /** Milliseconds since the process began. */
  now(): number;
  /** In [0, 1). */
  random(): number;
}

/** A place in the user's code that asked for time or randomness. */
export interface AmbientUse {
  /** `Date.now()`, `new Date()`, … */
  readonly what: string;
  /** `job.ts:14`; `null` when the platform does not say. */
  readonly where: string | null;
}

/** Places remembered. */
const PLACES_MAX = 12;

const setRealTimeout = globalThis.setTimeout;

/** Runs that share the globals come one after the other. */
let last: Promise<unknown> = Promise.resolve();

/** What a run gave, where it asked for time or randomness, and where it set timers of its own. */
export interface AmbientResult<T> {
  readonly result: T;
  readonly uses: readonly AmbientUse[];
  readonly timers: readonly AmbientUse[];
}

/** Runs with the time and the randomness of `ambient`; says where they were asked for. */
export function withAmbient<T>(ambient: Ambient, run: () => Promise<T>): Promise<AmbientResult<T>> {
  const mine = last.then(() => runAlone(ambient, run));
  last = mine.catch(() => undefined);
  return mine;
}

async function runAlone<T>(ambient: Ambient, run: () => Promise<T>): Promise<AmbientResult<T>> {
  const log = new UseLog();
  const timers = new UseLog();
  const restore = [
    replaced(globalThis, 'Date', simulatedDate(globalThis.Date, ambient, log)),
    replaced(
      Math,
      'random',
      log.noting('Math.random()', () => ambient.random()),
    ),
    replaced(
      performance,
      'now',
      log.noting('performance.now()', () => ambient.now()),
    ),
    replaced(
      crypto,
      'randomUUID',
      log.noting('crypto.randomUUID()', () => uuid(ambient)),
    ),
    ...TIMERS.map((name) => replaced(globalThis, name, refusedTimer(name, timers))),
  ];
  try {
    return { result: await run(), uses: log.uses, timers: timers.uses };
  } finally {
    for (const undo of restore.reverse()) undo();
  }
}

class UseLog {
  readonly #uses = new Map<string, AmbientUse>();

  get uses(): readonly AmbientUse[] {
    return [...this.#uses.values()];
  }

  /** `above`: the function whose caller is the place. */
  add(what: string, above: object): void {
    if (this.#uses.size >= PLACES_MAX) return;
    const where = placeAbove(above);
    this.#uses.set(`${what} ${where}`, { what, where });
  }

  noting<R>(what: string, answer: () => R): () => R {
    const noted = (): R => {
      this.add(what, noted);
      return answer();
    };
    return noted;
  }
}

const TIMERS = ['setTimeout', 'setInterval', 'setImmediate'] as const;

/** Frames looked through for one of the engine. */
const FRAMES_MAX = 50;
const ENGINE_FRAME = /[\\/](?:@weir|packages)[\\/]core[\\/]/;

/**
 * A timer that a function of the job sets never fires: it would fire in real time, when the run is
 * long over. One that something else sets meanwhile, such as another test, is a timer as ever.
 */
function refusedTimer(name: (typeof TIMERS)[number], log: UseLog): (...args: never[]) => unknown {
  const real = globalThis[name] as (...args: never[]) => unknown;
  const set = (...args: never[]): unknown => {
    if (!isCalledByEngine(set)) return real(...args);
    log.add(`${name}()`, set);
    const timer = setRealTimeout(() => undefined, 0);
    clearTimeout(timer);
    return timer;
  };
  return set;
}

function isCalledByEngine(above: object): boolean {
  const { stackTraceLimit } = Error;
  const holder: { stack?: string } = {};
  Error.stackTraceLimit = FRAMES_MAX;
  Error.captureStackTrace(holder, above as () => void);
  const { stack = '' } = holder;
  Error.stackTraceLimit = stackTraceLimit;
  return ENGINE_FRAME.test(stack);
}

function simulatedDate(real: DateConstructor, ambient: Ambient, log: UseLog): DateConstructor {
  const now = log.noting('Date.now()', () => ambient.wallTime());
  const construct = (target: DateConstructor, args: unknown[], newTarget: object): object => {
    if (args.length > 0) return Reflect.construct(target, args, newTarget as never) as object;
    log.add('new Date()', construct);
    return Reflect.construct(target, [ambient.wallTime()], newTarget as never) as object;
  };
  const apply = (): string => {
    log.add('Date()', apply);
    return new real(ambient.wallTime()).toString();
  };
  const get = (target: DateConstructor, name: string | symbol): unknown =>
    name === 'now' ? now : Reflect.get(target, name);
  return new Proxy(real, { construct, apply, get });
}

/** Puts a value in place of a property, its own or inherited; returns what takes it back. */
function replaced(owner: object, name: string, value: unknown): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  Object.defineProperty(owner, name, { value, configurable: true, writable: true });
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}

function uuid(ambient: Ambient): string {
  const digits = (length: number): string =>
    Array.from({ length }, () => Math.floor(ambient.random() * 16).toString(16)).join('');
  return `${digits(8)}-${digits(4)}-4${digits(3)}-a${digits(3)}-${digits(12)}`;
}

/** File and line of the first frame above a function that is running. */
function placeAbove(above: object): string | null {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, above as () => void);
  return placeIn(holder.stack?.split('\n')[1] ?? '');
}

/** `job.ts:14` of a line of a stack. */
export function placeIn(frame: string): string | null {
  const match = /([^\s/\\(]+):(\d+):\d+\)?$/.exec(frame.trim());
  return match === null ? null : `${match[1]}:${match[2]}`;
}
