/**
 * All that the command line has of the outside, so that commands are functions of it and tests need
 * no process. `main.ts` makes the real one.
 */
import type { Clock } from '../base/clock.ts';
import type { FileSystem } from '../base/file-system.ts';
import type { JobOwner } from '../storage/job-store.ts';
import type { RestClient } from '../rest/rest-client.ts';
import type { LoadedJob, RunOptions, RunOutcome } from './run-contract.ts';
import type { Terminal } from './terminal.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

export interface Environment {
  /** Absolute. */
  readonly workingDirectory: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly fileSystem: FileSystem;
  /** Such as `0.1.0`. */
  readonly version: string;
  /** Folders whose frames in a stack trace mean nothing to a user. */
  readonly internalDirectories: readonly string[];
  readonly loadJob: (path: string) => Promise<LoadedJob>;
  readonly runLocal: (options: RunOptions) => Promise<RunOutcome>;
  /** Asks the REST API at `host:port` or a URL. Loaded late. */
  readonly restClient: (address: string) => Promise<RestClient>;
  /** Who leads a job, in words, if he is alive. Absent: nobody is known to. */
  readonly livingOwner?: (owner: JobOwner | null, jobDirectory: string) => Promise<string | null>;
  /** Calls back for each signal until the answer is called; without, a signal ends the process. */
  readonly onSignal: (callback: (signal: StopSignal) => void) => () => void;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
}
