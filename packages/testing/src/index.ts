/**
 * `@weir/testing`: tests for jobs. `simulate` runs a whole job under simulated crashes;
 * `OperatorHarness` drives a single operator record by record; `sinkConformance` tests a sink by
 * what it promises. Needs no particular test runner.
 */
export { simulate } from './simulate/simulate.ts';
export type {
  OutputView,
  SimulatedSink,
  SimulateOptions,
  SimulationProgress,
  SimulationResult,
} from './simulate/simulate-options.ts';
export type { InputRecords } from './simulate/source-input.ts';
export type { FaultKind } from './simulate/fault-words.ts';
export { SimulationError } from './simulate/simulation-error.ts';
export type { SimulationFailure, SimulationFinding } from './simulate/simulation-error.ts';
export type { ChangedRecord, Comparison, OutputDifference } from './simulate/compare-outputs.ts';
export { OperatorHarness } from './harness/operator-harness.ts';
export type {
  HarnessOptions,
  JobHarnessOptions,
  OutputRecord,
} from './harness/operator-harness.ts';
export type { HarnessSnapshot } from './harness/harness-snapshot.ts';
export { sinkConformance } from './conformance/sink-conformance.ts';
export type { ConformanceCase } from './conformance/sink-conformance.ts';
export type {
  ConformanceCaseName,
  ConformanceOptions,
  ConformanceSystem,
} from './conformance/conformance-subject.ts';
export { ConformanceError } from './conformance/broken-rules.ts';
export { AutoClock } from './conformance/auto-clock.ts';
export type { ProcessGate } from './conformance/process-gate.ts';
