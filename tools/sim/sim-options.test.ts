import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSimOptions, UsageError } from './sim-options.ts';

test('what is asked for is what is run', () => {
  const { mode, seeds, first, scenario, threads } = parseSimOptions([]);
  assert.deepEqual(
    { mode, seeds, first, scenario, threads },
    {
      mode: 'seeds',
      seeds: 100,
      first: 1,
      scenario: 'random',
      threads: 2,
    },
  );
  const one = parseSimOptions(['--seed', '7', '--trace', '--scenario', 'kafka']);
  assert.deepEqual([one.mode, one.seed, one.how, one.scenario], ['seed', 7, 'trace', 'kafka']);
  assert.equal(parseSimOptions(['--bugs']).seeds, 500);
  assert.equal(parseSimOptions(['--seed', '1', '--bug', 'no alignment']).bug, 'no alignment');
  assert.equal(parseSimOptions(['--help', '--seeds', '3']).mode, 'help');
});

test('what would be misunderstood is refused with what to give', () => {
  const wrong: readonly (readonly [string, RegExp])[] = [
    ['--seed abc', /--seed abc: give a whole number from 0 to 4294967295/],
    ['--seed 4294967296', /--seed 4294967296: give/],
    ['--seed -5', /--seed needs a value/],
    ['--seeds 0', /--seeds 0: give a whole number from 1/],
    ['--seeds 1e9', /--seeds 1e9/],
    ['--first 4294967295 --seeds 2', /seeds end at 4294967295/],
    ['--scenario', /--scenario needs a value/],
    ['--scenario nope', /--scenario "nope" is not known; there are random, kafka/],
    ['--foo', /Unknown option '--foo'/],
    ['extra', /Unexpected argument 'extra'/],
    ['--threads 0', /--threads 0/],
    ['--seed 1 --seeds 2', /--seeds goes with --seeds N or --bugs, not with --seed N/],
    ['--trace', /--trace goes with --seed N, not with --seeds N/],
    ['--seed 1 --trace --shrink', /give one of --trace, --shrink/],
    ['--seed 1 --fault kill', /--fault goes with --seed N --every-event/],
    ['--seed 1 --every-event --fault kil', /--fault "kil" is not known; there are kill/],
    ['--seed 1 --bug nope', /no planted bug is called "nope"; there are/],
    ['--bugs --only nope', /no planted bug has "nope" in its name/],
    ['--bugs --seed 1', /give one of --bugs, --seed N/],
    ['--exhaustive --world x', /--world "x" is not known; there are small/],
  ];
  for (const [line, message] of wrong)
    assert.throws(
      () => parseSimOptions(line.split(' ')),
      (error) => error instanceof UsageError && message.test(error.message),
      line,
    );
});
