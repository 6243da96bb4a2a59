/** Events and views, for the tests of this folder. */
import type { ErrorInfo } from '../../base/errors.ts';
import type { VertexProgress } from '../run-contract.ts';
import { STARTED } from '../test-environment.ts';
import { RunProgress } from './run-progress.ts';

export function vertex(parts: Partial<VertexProgress> = {}): VertexProgress {
  return {
    name: 'totals',
    parallelism: 2,
    recordsIn: 0,
    recordsOut: 0,
    busy: 0,
    backPressured: 0,
    counters: {},
    ...parts,
  };
}

/** A run of two vertices, 65 seconds old, whose checkpoint is 3 seconds old. */
export function someProgress(): RunProgress {
  const progress = new RunProgress(0);
  progress.apply({ ...STARTED, jobName: 'order-totals' }, 0);
  progress.apply({ type: 'statusChanged', status: 'RUNNING', error: null }, 100);
  const orders = vertex({ name: 'Source: orders -> Map', recordsOut: 1_222_222, busy: 0.6 });
  const totals = vertex({ recordsIn: 1_200_000, busy: 0.24, counters: { late: 7 } });
  const first = [orders, totals];
  progress.apply({ type: 'progress', vertices: first, tasks: [] }, 64_000);
  const second = [
    { ...orders, recordsOut: 1_234_567, backPressured: 0.2 },
    { ...totals, recordsIn: 1_200_950 },
  ];
  progress.apply({ type: 'progress', vertices: second, tasks: [] }, 65_000);
  progress.apply(
    {
      type: 'checkpointCompleted',
      checkpointId: 12,
      durationMs: 45,
      sizeBytes: 1_258_291,
      path: null,
    },
    62_000,
  );
  return progress;
}

export function errorInfo(parts: Partial<ErrorInfo> = {}): ErrorInfo {
  return {
    name: 'UserFunctionError',
    code: 'USER_FUNCTION_FAILED',
    kind: 'function',
    message: 'map of operator totals threw: too much',
    details: {},
    stack: 'UserFunctionError: map\n    at engine (/engine/map.ts:1:1)',
    causes: [],
    ...parts,
  };
}

/** What the user's own code threw. */
export function userError(parts: Partial<ErrorInfo> = {}): ErrorInfo {
  return errorInfo({
    name: 'RangeError',
    code: null,
    message: 'too much',
    stack:
      'RangeError: too much\n    at Object.map (/here/jobs/orders.ts:5:24)\n' +
      '    at helper (/elsewhere/h.ts:1:2)\n    at MapOperator (/engine/map.ts:10:24)',
    ...parts,
  });
}
