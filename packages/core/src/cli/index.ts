/**
 * `@weir/core/cli`: the command line as a function, for tools that bring their own environment, and
 * the contract of runs. The command `weir` itself is `main.ts`.
 */
export { commandLine } from './command-line.ts';
export type { Environment, StopSignal } from './environment.ts';
export type {
  LoadedJob,
  RunEvent,
  RunOptions,
  RunOutcome,
  VertexProgress,
} from './run-contract.ts';
export { Terminal } from './terminal.ts';
export type { Screen } from './terminal.ts';
