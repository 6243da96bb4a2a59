import assert from 'node:assert/strict';
import { test } from 'node:test';
import { job } from '../api/job.ts';
import { Configuration } from '../base/configuration.ts';
import { isWeirError } from '../base/errors.ts';
import { prepareJob, rebuildJob } from './prepare-run.ts';

const INPUTS = { arguments: [], configuration: Configuration.empty };

test('an attempt has functions of its own in the graph that is known', () => {
  const doubled = job('doubled', (env) => {
    env
      .fromCollection([1])
      .map((n) => n * 2)
      .forEach(() => undefined);
  });
  const known = prepareJob(doubled, INPUTS);
  const { streamGraph, jobGraph } = rebuildJob(doubled, INPUTS, known);
  assert.equal(jobGraph, known.jobGraph);
  for (const [index, node] of streamGraph.nodes.entries())
    assert.notEqual(node.spec, known.streamGraph.nodes[index]?.spec);
});

test('a job that builds another graph for an attempt is refused', () => {
  let builds = 0;
  const changing = job('changing', (env) => {
    const mapped = env.fromCollection([1]).map((n) => n);
    mapped.uid(`mapped ${builds++}`).forEach(() => undefined);
  });
  const known = prepareJob(changing, INPUTS);
  assert.throws(
    () => rebuildJob(changing, INPUTS, known),
    (error) => isWeirError(error) && error.code === 'PLAN_CHANGED',
  );
});
