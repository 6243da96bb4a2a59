import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWeirError } from '../../base/errors.ts';
import { subtaskKey } from '../../base/ids.ts';
import type { JobGraph } from '../job-graph.ts';
import type { OperatorRestore, TaskRestore } from '../messages.ts';
import type { SnapshotMetadata } from '../snapshot.ts';
import { jobGraphOf, operatorIdOf, vertexIdOf } from './job-graph-fixture.ts';
import type { VertexOptions } from './job-graph-fixture.ts';
import { lettersOf, markOfChannel, snapshotOf } from './snapshot-fixture.ts';
import { assignState } from './state-assignment.ts';
import type { StateAssignment } from './state-assignment.ts';

const DIRECTORY = '/checkpoints/chk-5';

function assign(
  metadata: SnapshotMetadata,
  jobGraph: JobGraph,
  allowNonRestored = false,
): StateAssignment {
  return assignState(metadata, jobGraph, { directory: DIRECTORY, allowNonRestored });
}

const sourceOf = (parallelism: number): JobGraph =>
  jobGraphOf({ source: parallelism, sink: 1 }, ['source -rebalance-> sink']);
const sumOf = (options: VertexOptions): JobGraph =>
  jobGraphOf({ source: 1, sum: options }, ['source -hash-> sum']);

function taskOf(assignment: StateAssignment, vertex: string, subtask: number): TaskRestore {
  const restore = assignment.restores.get(subtaskKey(vertexIdOf(vertex), subtask));
  assert.ok(restore, `no restore of ${vertex} ${subtask}`);
  return restore;
}

function operatorsOf(
  assignment: StateAssignment,
  vertex: string,
  parallelism: number,
): readonly (OperatorRestore | undefined)[] {
  return Array.from({ length: parallelism }, (_, subtask) =>
    taskOf(assignment, vertex, subtask).operators.find(
      ({ operatorId }) => operatorId === operatorIdOf(vertex),
    ),
  );
}

/** The letters of a state in each new subtask of `source`. */
function letters(assignment: StateAssignment, name: string, parallelism: number): unknown {
  return operatorsOf(assignment, 'source', parallelism).map((it) => lettersOf(it, name));
}

function messageOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    assert.ok(isWeirError(error) && error.code === 'STATE_INCOMPATIBLE', String(error));
    assert.equal(error.kind, 'user');
    return error.message;
  }
  return assert.fail('no error');
}

test('list items are divided evenly, in order [I-66]', () => {
  const metadata = snapshotOf(sourceOf(2), {
    states: { source: (subtask) => ({ list: { splits: subtask === 0 ? 'abc' : 'de' } }) },
  });
  const assignment = assign(metadata, sourceOf(3));
  assert.deepEqual(letters(assignment, 'splits', 3), ['ab', 'cd', 'e']);
});

test('the longer shares of the next list begin where those of the last ended [I-66]', () => {
  const metadata = snapshotOf(sourceOf(1), {
    states: { source: () => ({ list: { first: 'abcd', second: 'x', third: 'yz' } }) },
  });
  const assignment = assign(metadata, sourceOf(3));
  assert.deepEqual(letters(assignment, 'first', 3), ['ab', 'c', 'd']);
  assert.deepEqual(letters(assignment, 'second', 3), ['', 'x', '']);
  assert.deepEqual(letters(assignment, 'third', 3), ['z', '', 'y']);
});

test('at the same parallelism every subtask keeps its list', () => {
  const metadata = snapshotOf(sourceOf(2), {
    states: { source: (subtask) => ({ list: { splits: subtask === 0 ? 'abc' : '' } }) },
  });
  assert.deepEqual(letters(assign(metadata, sourceOf(2)), 'splits', 2), ['abc', '']);
});

test('a union list goes to every subtask as a whole [I-67]', () => {
  const metadata = snapshotOf(sourceOf(2), {
    states: { source: (subtask) => ({ union: { offsets: subtask === 0 ? 'a' : 'b' } }) },
  });
  const assignment = assign(metadata, sourceOf(3));
  assert.deepEqual(letters(assignment, 'offsets', 3), ['ab', 'ab', 'ab']);
});

test('a union list holds every item once, also when the parallelism stays [R062]', () => {
  const metadata = snapshotOf(sourceOf(2), {
    states: {
      source: (subtask) => ({
        list: { splits: subtask === 0 ? 'x' : 'y' },
        union: { offsets: subtask === 0 ? 'a' : 'b' },
      }),
    },
  });
  const assignment = assign(metadata, sourceOf(2));
  assert.deepEqual(letters(assignment, 'offsets', 2), ['ab', 'ab']);
  assert.deepEqual(letters(assignment, 'splits', 2), ['x', 'y']);
});

test('broadcast state of subtask i comes from i modulo the old parallelism [I-67]', () => {
  const metadata = snapshotOf(sourceOf(2), {
    states: { source: (subtask) => ({ broadcast: { rules: subtask === 0 ? 'a' : 'b' } }) },
  });
  assert.deepEqual(letters(assign(metadata, sourceOf(3)), 'rules', 3), ['a', 'b', 'a']);
  assert.deepEqual(letters(assign(metadata, sourceOf(2)), 'rules', 2), ['a', 'b']);
});

test('broadcast state missing in some subtasks is taken from the others', () => {
  const metadata = snapshotOf(sourceOf(3), {
    states: { source: (subtask) => (subtask === 1 ? { broadcast: { rules: 'b' } } : null) },
  });
  assert.deepEqual(letters(assign(metadata, sourceOf(3)), 'rules', 3), ['b', 'b', 'b']);
  assert.deepEqual(letters(assign(metadata, sourceOf(2)), 'rules', 2), ['b', 'b']);
});

test('a subtask that has broadcast state of its own keeps it', () => {
  const metadata = snapshotOf(sourceOf(3), {
    states: {
      source: (subtask) => (subtask === 1 ? null : { broadcast: { rules: 'a-c'[subtask] ?? '' } }),
    },
  });
  assert.deepEqual(letters(assign(metadata, sourceOf(3)), 'rules', 3), ['a', 'c', 'c']);
});

test('keyed state goes to the owners of its key groups, with the files that hold it', () => {
  const metadata = snapshotOf(sumOf({ parallelism: 3 }), {
    states: { sum: () => ({ keyed: true }) },
  });
  const assignment = assign(metadata, sumOf({ parallelism: 2 }));
  const files = operatorsOf(assignment, 'sum', 2).map((restore) =>
    restore?.keyed.map(({ data }) => (data.kind === 'file' ? data.path : '')),
  );
  assert.deepEqual(files, [
    ['sum-0', 'sum-1'],
    ['sum-1', 'sum-2'],
  ]);
  assert.equal(taskOf(assignment, 'sum', 0).directory, DIRECTORY);
  assert.equal(taskOf(assignment, 'sum', 0).checkpointId, 5);
});

test('subtasks that never saw a record do not hide the state of the others [R061]', () => {
  const metadata = snapshotOf(sumOf({ parallelism: 4 }), {
    states: { sum: (subtask) => (subtask === 3 ? { keyed: true } : null) },
  });
  for (const parallelism of [2, 8]) {
    const restores = operatorsOf(assign(metadata, sumOf({ parallelism })), 'sum', parallelism);
    const groups = restores.flatMap((it) => it?.keyed.map(({ snapshot }) => snapshot.keyed) ?? []);
    assert.ok(groups.length > 0 && groups.every((keyed) => keyed?.keyGroups[0] === 96));
  }
});

test('more subtasks than the key groups of the snapshot are refused [I-65]', () => {
  const metadata = snapshotOf(sumOf({ parallelism: 4, maxParallelism: 13 }), {
    states: { sum: () => ({ keyed: true }) },
  });
  const message = messageOf(() => assign(metadata, sumOf({ parallelism: 14 })));
  assert.match(message, /"sum" \(job\.ts:2\) cannot run with parallelism 14.*13 key groups/);
  assert.doesNotThrow(() => assign(metadata, sumOf({ parallelism: 13 })));
});

test('another fixed maximum parallelism is refused, a derived one follows [I-69]', () => {
  const metadata = snapshotOf(sumOf({ parallelism: 2, maxParallelism: 128 }), {
    states: { sum: () => ({ keyed: true }) },
  });
  const fixed = sumOf({ parallelism: 2, maxParallelism: 64, maxParallelismFixed: true });
  assert.match(
    messageOf(() => assign(metadata, fixed)),
    /maximum parallelism 64, but the snapshot divides its keys into 128 key groups/,
  );
  const derived = sumOf({ parallelism: 2, maxParallelism: 64 });
  const { jobGraph } = assign(metadata, derived);
  assert.deepEqual(
    jobGraph.vertices.map(({ maxParallelism }) => maxParallelism),
    [128, 128],
  );
  assert.equal(jobGraph.planHash, derived.planHash);
});

test('operators without keys may have more subtasks than key groups [R064]', () => {
  const before = jobGraphOf({ source: 1, map: { parallelism: 2, stateful: false } }, [
    'source -rebalance-> map',
  ]);
  const after = jobGraphOf({ source: 1, map: { parallelism: 200, stateful: false } }, [
    'source -rebalance-> map',
  ]);
  const { jobGraph, restores } = assign(snapshotOf(before), after);
  assert.equal(jobGraph.vertices[1]?.parallelism, 200);
  assert.equal(restores.size, 201);
});

test('state of a removed operator is refused, naming it and candidates [I-70] [R053]', () => {
  const before = sumOf({ parallelism: 1, maxParallelism: 3, operators: ['c'] });
  const metadata = snapshotOf(before, { states: { c: () => ({ keyed: true }) } });
  const after = jobGraphOf({ source: 1, d: 1 }, ['source -hash-> d']);
  const message = messageOf(() => assign(metadata, after));
  assert.match(message, /operator "c" \(keyedProcess, 3 keys, 40 B\) has no home in this job/);
  assert.match(message, /candidates: "d" \(job\.ts:2\)/);
  assert.match(message, /\.uid\("c"\), or drop it with -n \(--allowNonRestoredState\)/);
  assert.doesNotMatch(message, /[0-9a-f]{32}/);
});

test('an operator that has state of its own in the snapshot is no candidate [R053]', () => {
  const before = jobGraphOf({ source: 1, c: 1, d: 1 }, ['source -hash-> c', 'source -hash-> d']);
  const metadata = snapshotOf(before, { states: { c: () => ({ keyed: true }) } });
  const after = jobGraphOf({ source: 1, d: 1 }, ['source -hash-> d']);
  assert.match(
    messageOf(() => assign(metadata, after)),
    /"c" .* has no home in this job; candidates: none/,
  );
});

test('state of a removed operator is dropped when that is allowed, and said so [I-70]', () => {
  const before = sumOf({ parallelism: 1, operators: ['c'] });
  const metadata = snapshotOf(before, { states: { c: () => ({ keyed: true }) } });
  const after = jobGraphOf({ source: 1, d: 1 }, ['source -hash-> d']);
  const assignment = assign(metadata, after, true);
  assert.deepEqual(
    assignment.dropped.map(({ uid, keyCount }) => [uid, keyCount]),
    [['c', 128]],
  );
  assert.match(assignment.warnings[0] ?? '', /state of operator "c" .* is dropped/);
  assert.equal(assignment.restores.has(subtaskKey(vertexIdOf('d'), 0)), false);
});

test('of a removed sink it is said that results are lost, and how they are not', () => {
  const before = sourceOf(1);
  const vertices = before.vertices.map((vertex) =>
    vertex.name === 'sink'
      ? { ...vertex, operators: vertex.operators.map((it) => ({ ...it, type: 'sink' })) }
      : vertex,
  );
  const metadata = snapshotOf(
    { ...before, vertices },
    { states: { sink: () => ({ list: { committables: 'ab' } }), source: () => ({}) } },
  );
  const after = jobGraphOf({ source: 1, other: 1 }, ['source -rebalance-> other']);
  assert.match(
    messageOf(() => assign(metadata, after)),
    /once weir tx commit, with the job as it was, has published what its sink was about to$/,
  );
  const [warning = ''] = assign(metadata, after, true).warnings;
  assert.match(warning, /is dropped: results that it had not published yet are lost/);
});

test('removed and new operators without state are fine [I-70]', () => {
  const before = jobGraphOf({ source: 1, map: 1, sum: 1 }, [
    'source -rebalance-> map',
    'map -hash-> sum',
  ]);
  const metadata = snapshotOf(before, { states: { sum: () => ({ keyed: true }) } });
  const after = jobGraphOf({ source: 1, filter: 1, sum: 1 }, [
    'source -rebalance-> filter',
    'filter -hash-> sum',
  ]);
  const assignment = assign(metadata, after);
  assert.deepEqual(assignment.dropped, []);
  assert.equal(operatorsOf(assignment, 'sum', 1)[0]?.keyed.length, 1);
});

test('operators keep their state when they are chained otherwise', () => {
  const before = jobGraphOf({ source: { parallelism: 2, operators: ['source', 'map'] } }, []);
  const metadata = snapshotOf(before, {
    states: { map: (subtask) => ({ list: { seen: 'ab'[subtask] ?? '' } }) },
  });
  const after = jobGraphOf({ source: 2, map: 1 }, ['source -rebalance-> map']);
  assert.equal(lettersOf(operatorsOf(assign(metadata, after), 'map', 1)[0], 'seen'), 'ab');
});

test('a snapshot that shares no operator with the job is of another job', () => {
  const metadata = snapshotOf(sourceOf(1), { states: { source: () => ({ list: { a: 'x' } }) } });
  const other = jobGraphOf({ clicks: 1, counts: 1 }, ['clicks -hash-> counts']);
  assert.match(
    messageOf(() => assign(metadata, other, false)),
    /checkpoint 5 is of another job.*-n \(--allowNonRestoredState\)/,
  );
  const { dropped, warnings } = assign(metadata, other, true);
  assert.deepEqual([dropped.length, warnings.length], [1, 1], 'dropped on purpose, and said');
});

test('channels go on at their marks when the job has the same channels', () => {
  const graph = jobGraphOf({ source: 2, sum: 2 }, ['source -hash-> sum']);
  const assignment = assign(snapshotOf(graph), graph);
  const { inputs } = taskOf(assignment, 'sum', 1);
  assert.deepEqual(
    inputs.map(({ channelId, mark, watermark }) => [channelId, mark, watermark]),
    [1, 3].map((id) => [id, markOfChannel(id), 1_000]),
  );
  assert.deepEqual(
    taskOf(assignment, 'source', 0).outputs,
    [0, 1].map((channelId) => ({ channelId, mark: markOfChannel(channelId) })),
  );
});

test('channels begin anew when the job has others', () => {
  const before = jobGraphOf({ source: 2, sum: 2 }, ['source -rescale-> sum']);
  const others = [
    jobGraphOf({ source: 2, sum: 3 }, ['source -rescale-> sum']),
    jobGraphOf({ source: 2, sum: 2 }, ['source -hash-> sum']),
    jobGraphOf({ source: 2, sum: 2, extra: 1 }, ['source -rescale-> sum', 'sum -hash-> extra']),
    jobGraphOf({ source: 2, extra: 2, sum: 2 }, ['source -rescale-> sum']),
  ];
  for (const after of others) {
    const { inputs } = taskOf(assign(snapshotOf(before), after), 'sum', 0);
    assert.deepEqual(inputs, []);
  }
});

test('channels begin anew when other producers feed them', () => {
  const vertices = { a: 1, b: 1, sum: 1 };
  const before = jobGraphOf(vertices, ['a -hash-> sum', 'b -hash-> sum']);
  const after = jobGraphOf(vertices, ['b -hash-> sum', 'a -hash-> sum']);
  assert.deepEqual(taskOf(assign(snapshotOf(before), after), 'sum', 0).inputs, []);
});

test('records in flight are never left out silently', () => {
  const graph = sourceOf(1);
  const metadata = snapshotOf(graph);
  const [source, sink] = metadata.vertices;
  const [task] = sink?.subtasks ?? [];
  assert.ok(source && sink && task);
  const inputs = task.inputs.map((input) => ({ ...input, k: input.mark - 1 }));
  const unaligned = {
    ...metadata,
    vertices: [source, { ...sink, subtasks: [{ ...task, inputs }] }],
  };
  assert.match(
    messageOf(() => assign(unaligned, graph)),
    /records in flight at "sink"/,
  );
  const [producer] = source.subtasks;
  assert.ok(producer);
  const outputs = producer.outputs.map((output) => ({ ...output, e: output.mark + 1 }));
  const unsent = {
    ...metadata,
    vertices: [{ ...source, subtasks: [{ ...producer, outputs }] }, sink],
  };
  assert.match(
    messageOf(() => assign(unsent, graph)),
    /records in flight at "source"/,
  );
});

test('ends of a channel that contradict each other are found', () => {
  const graph = sourceOf(1);
  const metadata = snapshotOf(graph);
  const [source, sink] = metadata.vertices;
  const [task] = sink?.subtasks ?? [];
  assert.ok(source && sink && task);
  const inputs = task.inputs.map((input) => ({ ...input, k: 99, mark: 99 }));
  const contradicting = {
    ...metadata,
    vertices: [source, { ...sink, subtasks: [{ ...task, inputs }] }],
  };
  assert.throws(
    () => assign(contradicting, graph),
    (error) => isWeirError(error) && error.code === 'STATE_CORRUPT',
  );
});

test('a finished vertex stays finished and goes on at the marks of its consumers [I-37]', () => {
  const graph = sourceOf(2);
  const assignment = assign(snapshotOf(graph, { finished: ['source'] }), graph);
  const task = taskOf(assignment, 'source', 1);
  assert.equal(task.finished, true);
  assert.deepEqual(task.outputs, [{ channelId: 1, mark: markOfChannel(1) }]);
  assert.equal(taskOf(assignment, 'sink', 0).finished, false);
});

test('a finished subtask stays finished only at the same parallelism', () => {
  const metadata = snapshotOf(sourceOf(2), { finished: ['source1'] });
  const finishedAt = (parallelism: number): readonly boolean[] => {
    const assignment = assign(metadata, sourceOf(parallelism));
    return Array.from({ length: parallelism }, (_, i) => taskOf(assignment, 'source', i).finished);
  };
  assert.deepEqual(finishedAt(2), [false, true]);
  assert.deepEqual(finishedAt(3), [false, false, false]);
});

test('a vertex of which every subtask had finished stays finished at another parallelism', () => {
  const metadata = snapshotOf(sourceOf(2), { finished: ['source0', 'source1'] });
  const assignment = assign(metadata, sourceOf(3));
  for (let subtask = 0; subtask < 3; subtask++)
    assert.equal(taskOf(assignment, 'source', subtask).finished, true);
});

test('a finished subtask runs again when one of its producers does', () => {
  const graph = sourceOf(2);
  const finishedWith = (finished: readonly string[]): boolean =>
    taskOf(assign(snapshotOf(graph, { finished }), graph), 'sink', 0).finished;
  assert.equal(finishedWith(['source0', 'source1', 'sink0']), true);
  assert.equal(finishedWith(['source0', 'sink0']), false);
});

test('the inputs of a finished consumer have ended', () => {
  const graph = sourceOf(1);
  const assignment = assign(snapshotOf(graph, { finished: ['sink0'] }), graph);
  assert.deepEqual(taskOf(assignment, 'sink', 0).inputs, [
    { channelId: 0, mark: markOfChannel(0), watermark: Infinity, idle: false, endOfData: true },
  ]);
});

test('finished and unfinished operators cannot be chained together', () => {
  const before = jobGraphOf({ source: 1, map: 1 }, ['source -rebalance-> map']);
  const metadata = snapshotOf(before, { finished: ['source'] });
  const after = jobGraphOf({ source: { parallelism: 1, operators: ['source', 'map'] } }, []);
  assert.match(
    messageOf(() => assign(metadata, after)),
    /"source" \(job\.ts:1\) had finished, and "map" .* startNewChain/,
  );
});

test('a finished vertex cannot be fed by one that had not finished', () => {
  const metadata = snapshotOf(sourceOf(1), { finished: ['source', 'sink'] });
  const after = jobGraphOf({ source: 1, extra: 1, sink: 1 }, [
    'source -rebalance-> sink',
    'extra -rebalance-> sink',
  ]);
  assert.match(
    messageOf(() => assign(metadata, after)),
    /"sink" had finished, so it cannot take records from "extra"/,
  );
});

test('enumerator state comes back by operator, and counts as state', () => {
  const graph = sourceOf(1);
  const coordinator = {
    operatorId: operatorIdOf('source'),
    uid: 'source',
    bytes: Uint8Array.of(1),
  };
  const metadata = { ...snapshotOf(graph), coordinators: [coordinator] };
  assert.deepEqual([...assign(metadata, graph).coordinators.values()], [coordinator]);
  const after = jobGraphOf({ other: 1, sink: 1 }, ['other -rebalance-> sink']);
  assert.match(
    messageOf(() => assign(metadata, after)),
    /operator "source" \(1 B\) has no home/,
  );
  assert.equal(assign(metadata, after, true).coordinators.size, 0);
});
