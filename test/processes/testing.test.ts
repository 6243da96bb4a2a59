/** The page on testing: followed step by step from the packed packages, in an empty folder. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeBlocks } from '../package/code-blocks.ts';
import { packPackages, ROOT, userEnvironment } from '../package/installed-package.ts';
import { shownFor, walkThrough } from '../package/walkthrough.ts';

const LIMIT_MS = 280_000;
const blocks = codeBlocks(readFileSync(join(ROOT, 'docs/guide/testing.md'), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'weir-testing-'));
/** Where the page works. */
const project = join(folder, 'testing-a-job');
let tarballs: ReadonlyMap<string, string> = new Map();

before(() => {
  tarballs = packPackages(join(folder, 'packed'), ['testing']);
});
after(() => rmSync(folder, { recursive: true, force: true }));

function node(...args: string[]): SpawnSyncReturns<string> {
  const options = { cwd: project, env: userEnvironment(), encoding: 'utf8' } as const;
  return spawnSync(process.execPath, args, options);
}

test('following the page finds both mistakes, and the corrected job passes', () => {
  const replace = { '/tmp/weir/': `${dirname(tarballs.get('core') ?? '')}/` };
  const { steps, fault } = walkThrough(blocks, { folder, replace, limitMs: LIMIT_MS });
  if (fault !== null) assert.fail(`docs/guide/testing.md, ${fault}`);
  const printed = steps.map(({ output }) => output).join('');
  assert.match(printed, /the job called new Date\(\) at order-totals\.ts:\d+/);
  assert.match(printed, /killed the process/);
  assert.equal(blocks.filter((block) => shownFor(blocks, block) !== null).length, 5);
});

test('its TypeScript fits the published types, to the letter', () => {
  const pieces = blocks.filter(({ language, title }) => language === 'ts' && title === null);
  assert.equal(pieces.length, 1);
  writeFileSync(join(project, 'piece.ts'), pieces[0]?.text ?? '');
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
    allowImportingTsExtensions: true,
    module: 'nodenext',
    target: 'es2024',
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    noEmit: true,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const types = node(join(ROOT, 'node_modules/typescript/bin/tsc'));
  assert.equal(types.status, 0, types.stdout + types.stderr);
});

test('the piece that is shown prints what its comment says', () => {
  const { status, stdout, stderr } = node('piece.ts');
  assert.equal(status, 0, stderr);
  assert.equal(stdout, '20 true\n');
});
