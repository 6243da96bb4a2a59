/** The page on writing a sink: followed from the packed packages, in an empty folder. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeBlocks } from '../package/code-blocks.ts';
import { packPackages, ROOT, userEnvironment } from '../package/installed-package.ts';
import { walkThrough } from '../package/walkthrough.ts';

const PAGE = 'docs/guide/writing-a-sink.md';
const LIMIT_MS = 200_000;
const LINES_MAX = 100;
const blocks = codeBlocks(readFileSync(join(ROOT, PAGE), 'utf8'));
const folder = mkdtempSync(join(tmpdir(), 'weir-writing-'));
const project = join(folder, 'project');
let tarballs: ReadonlyMap<string, string> = new Map();

before(() => {
  tarballs = packPackages(join(folder, 'packed'), ['testing']);
});
after(() => rmSync(folder, { recursive: true, force: true }));

test('the sink and its proof have less than a hundred lines together', () => {
  const code = blocks.filter(({ title }) => title?.startsWith('sqlite-sink') === true);
  const lines = code.flatMap(({ text }) => text.split('\n').filter((line) => line.trim() !== ''));
  assert.equal(code.length, 2);
  assert.ok(lines.length < LINES_MAX, `${lines.length} lines`);
});

test('following the page proves the sink and writes every row once', () => {
  spawnSync('mkdir', [project]);
  const replace = { '/tmp/weir/': `${dirname(tarballs.get('core') ?? '')}/` };
  const { fault } = walkThrough(blocks, { folder: project, replace, limitMs: LIMIT_MS });
  if (fault !== null) assert.fail(`${PAGE}, ${fault}`);
});

test('its TypeScript fits the published types, to the letter', () => {
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    allowImportingTsExtensions: true,
    module: 'nodenext',
    target: 'es2024',
    types: ['node'],
    typeRoots: [join(ROOT, 'node_modules/@types')],
    noEmit: true,
  };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions }));
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, 'node_modules/typescript/bin/tsc')],
    { cwd: project, env: userEnvironment(), encoding: 'utf8' },
  );
  assert.equal(status, 0, stdout);
});
