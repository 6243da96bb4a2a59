import { deepStrictEqual, strictEqual, throws } from 'node:assert/strict';
import { test } from 'node:test';
import { listState, operatorListState, valueState } from '../api/state-descriptors.ts';
import { OperatorStateBackend } from './operator/operator-state-backend.ts';
import { createStateHandles } from './state-handles.ts';
import { keyedSubtask } from './test-support.ts';

const operator = (): OperatorStateBackend =>
  new OperatorStateBackend({ operatorName: 'totals', subtask: 0, parallelism: 1 });

test('keyed and operator states of one declaration stand side by side', () => {
  const { backend } = keyedSubtask({});
  const declaration = { total: valueState({ default: 0 }), offsets: operatorListState<number>() };
  const state = createStateHandles(declaration, backend, operator());
  deepStrictEqual(Object.keys(state), ['total', 'offsets']);
  state.offsets.add(1);
  deepStrictEqual(state.offsets.get(), [1]);
  backend.setCurrentKey('a');
  strictEqual(state.total.value, 0);
});

test('keyed state where there is no key is refused, saying what to do', () => {
  throws(() => createStateHandles({ total: listState() }, null, operator()), {
    code: 'GRAPH_INVALID',
    message: /totals declares list state "total", which belongs to a key.*call keyBy before it/,
  });
});
