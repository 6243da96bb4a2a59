/** The packages as they are published: packed, installed by npm in an empty project, used there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import type { SpawnSyncReturns } from 'node:child_process';
import {
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { publicPackages } from '../../tools/build/packages.ts';
import { codeBlocks } from '../package/code-blocks.ts';
import { jobsOfPages } from '../package/documented-jobs.ts';
import { installInto, packPackages, ROOT, userEnvironment } from '../package/installed-package.ts';

const project = mkdtempSync(join(tmpdir(), 'weir-project-'));
const weir = join(project, 'node_modules/.bin/weir');
const PACKAGES = publicPackages(ROOT, []).map(({ folder }) => folder);

let tarballs: ReadonlyMap<string, string> = new Map();

before(() => {
  tarballs = packPackages(join(project, 'packed'), PACKAGES);
  installInto(project, tarballs.values());
});
after(() => rmSync(project, { recursive: true, force: true }));

function run(command: string, args: readonly string[]): SpawnSyncReturns<string> {
  return spawnSync(command, args, { cwd: project, env: userEnvironment(), encoding: 'utf8' });
}

test('the installed command runs a job on two threads', () => {
  writeFileSync(join(project, 'input.txt'), 'To be, or not to be\n'.repeat(50));
  const job = join(ROOT, 'examples/word-count.ts');
  writeFileSync(join(project, 'word-count.ts'), readFileSync(job));
  const args = ['run', '-p', '2', 'word-count.ts', '--input', 'input.txt', '--output', 'counts'];
  const { status, stdout, stderr } = run(weir, args);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /^job word-count: no earlier run, starts empty\n/);
  const written = globSync(join(project, 'counts/part-*'))
    .flatMap((path) => readFileSync(path, 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as { word: string; count: number });
  assert.equal(written.length, 300);
  assert.equal(Math.max(...written.map(({ count }) => count)), 100);
});

test('the installed command proves its checkpoints by restoring them', () => {
  const checkpoints = ['-Dexecution.checkpointing.interval=200ms', '-Dweir.checkpoint.drill=1'];
  const job = ['word-count.ts', '--input', 'input.txt', '--output', 'drilled', '--rate', '25'];
  const id = ['--job-id', 'd'.repeat(32)];
  const { status, stdout, stderr } = run(weir, ['run', '--verbose', ...id, ...checkpoints, ...job]);
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /^restore drill: checkpoint \d+ restores \(\d+ keys, /m);
  assert.doesNotMatch(stderr, /restore drill/);
});

interface Installed {
  readonly version: string;
  readonly license: string;
  readonly engines: { readonly node: string };
  readonly exports: Readonly<Record<string, unknown>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: unknown;
}

interface SourceMap {
  readonly sources: readonly string[];
  readonly sourcesContent: readonly string[];
}

function installed(name: string): Installed {
  const path = join(project, 'node_modules/@weir', name, 'package.json');
  return JSON.parse(readFileSync(path, 'utf8')) as Installed;
}

for (const name of PACKAGES) {
  test(`whatever @weir/${name} exports can be imported`, () => {
    const { exports } = installed(name);
    const names = Object.keys(exports).filter((entry) => !/\.json$|\*/.test(entry));
    assert.ok(names.length > 0);
    for (const entry of names) {
      const code = `await import('@weir/${name}${entry.slice(1)}')`;
      const { status, stderr } = run(process.execPath, ['--input-type=module', '--eval', code]);
      assert.equal(status, 0, `${entry}: ${stderr}`);
    }
  });

  test(`@weir/${name} holds compiled code with types, and nothing else`, () => {
    const folder = join(project, 'node_modules/@weir', name);
    const files = globSync('**/*.*', { cwd: folder }).filter(
      (file) => !file.startsWith('node_modules'),
    );
    for (const file of ['README.md', 'package.json', 'lib/index.js', 'lib/index.d.ts'])
      assert.ok(files.includes(file), `${file} is missing`);
    assert.ok(globSync('LICENSE', { cwd: folder }).length === 1);
    // Its own tests, that is: a package may well be about testing.
    const odd = files.filter(
      (file) =>
        /\.test\.|fixture|test-support|tsconfig/.test(file) ||
        (file.endsWith('.ts') && !file.endsWith('.d.ts')),
    );
    assert.deepEqual(odd, []);
    const code = files.filter((file) => /\.(js|d\.ts)$/.test(file));
    const stale = code.filter((file) =>
      /(from|import\() ?['"](\.[^'"]*\.ts|@weir\/simulation[^'"]*)['"]/.test(
        readFileSync(join(folder, file), 'utf8'),
      ),
    );
    assert.deepEqual(stale, [], 'imports of sources, or of a package that is not published');
  });

  test(`source maps of @weir/${name} name places in the package, with their text`, () => {
    const folder = join(project, 'node_modules/@weir', name);
    for (const path of globSync('lib/**/*.map', { cwd: folder })) {
      const map = JSON.parse(readFileSync(join(folder, path), 'utf8')) as SourceMap;
      const places = map.sources.map((place) => join(dirname(path), place));
      assert.deepEqual(places, [path.replace('lib', 'src').replace('.js.map', '.ts')]);
      assert.equal(map.sourcesContent.length, 1);
    }
  });

  test(`@weir/${name} says its licence, its Node and its version of the engine`, () => {
    const { version, license, engines, peerDependencies, devDependencies } = installed(name);
    assert.equal(license, 'Apache-2.0');
    assert.match(engines.node, /^>=22/);
    assert.equal(devDependencies, undefined);
    const expected = name === 'core' ? undefined : { '@weir/core': version };
    assert.deepEqual(peerDependencies, expected);
  });
}

test('there is one copy of the engine, and npm refuses another version of it', () => {
  const copies = globSync('node_modules/**/@weir/core/package.json', { cwd: project });
  assert.deepEqual(copies, ['node_modules/@weir/core/package.json']);
  const other = mkdtempSync(join(tmpdir(), 'weir-other-'));
  try {
    writeFileSync(
      join(other, 'package.json'),
      JSON.stringify({ name: '@weir/core', version: '0.0.1' }),
    );
    const elsewhere = join(other, 'project');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'package.json'), '{ "private": true }\n');
    const args = ['install', '--dry-run', '--offline', tarballs.get('testing') ?? '', other];
    const options = { cwd: elsewhere, env: userEnvironment(), encoding: 'utf8' } as const;
    const { status, stderr } = spawnSync('npm', args, options);
    assert.notEqual(status, 0, 'npm would install two engines');
    assert.match(stderr, /ERESOLVE[^]*peer @weir\/core@/);
  } finally {
    rmSync(other, { recursive: true, force: true });
  }
});

test('a job that uses all packages fits their types to the letter, and runs', () => {
  const code = `
import { job, collectedWords } from './words.ts';
import { simulate, OperatorHarness } from '@weir/testing';
import type { SimulationResult } from '@weir/testing';
import { runJob } from '@weir/core';
import type { DataStream } from '@weir/core';

const outcome = await runJob(job);
const simulated: SimulationResult = await simulate(job, { seeds: 3 });
const harness = OperatorHarness.oneInput((words: DataStream<string>) =>
  words.map((word) => word.length),
);
await harness.processElement('three');
const lengths: readonly number[] = harness.extractOutputValues();
console.log(outcome.status, collectedWords.length, simulated.schedules, lengths.join());
`;
  const words = `
import { job as newJob } from '@weir/core';
import type { Job } from '@weir/core';
import { json, kafkaSource } from '@weir/kafka';
import type { KafkaRecord } from '@weir/kafka';
import { postgresSink } from '@weir/postgres';

export const collectedWords: string[] = [];
export const job: Job = newJob('words', (env) => {
  env.fromCollection(['to', 'be'], { uid: 'words' }).collect(collectedWords).uid('out');
});
export const orders = kafkaSource({ bootstrap: 'k:9092', topics: 't', value: json<{ a: 1 }>() });
export type Orders = KafkaRecord;
export const rows = postgresSink<number>({
  connection: 'postgres://localhost',
  table: 't',
  columns: { n: (value) => value },
});
`;
  writeFileSync(join(project, 'words.ts'), words);
  writeFileSync(join(project, 'all.ts'), code);
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
  const config = { compilerOptions, files: ['words.ts', 'all.ts'] };
  writeFileSync(join(project, 'tsconfig.all.json'), JSON.stringify(config));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { stdout: complaints } = run(process.execPath, [compiler, '-p', 'tsconfig.all.json']);
  // Without skipLibCheck: the declarations of what we build on count as well.
  assert.equal(complaints, '');
  const { status, stdout, stderr } = run(process.execPath, ['all.ts']);
  assert.equal(status, 0, stderr);
  assert.equal(stdout, 'FINISHED 2 3 5\n');
});

/** An old Node of this machine, or this one that says it is old. */
function oldNode(): readonly string[] {
  const found = ['/usr/bin/node', '/usr/local/bin/node'].find((path) =>
    /^v(1\d|2[01])\./.test(run(path, ['--version']).stdout ?? ''),
  );
  if (found !== undefined) return [found];
  const versions = "{ value: { ...process.versions, node: '20.20.2' } }";
  const pretend = `Object.defineProperty(process, 'versions', ${versions})`;
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(pretend)}`];
}

test('on an old Node the command says in one line which one it needs', () => {
  const [command = '', ...options] = oldNode();
  const { status, stdout, stderr } = run(command, [...options, weir, 'run', 'word-count.ts']);
  assert.equal(stdout, '');
  assert.match(stderr, /^weir needs Node 22\.22 or newer, this is Node \d+\.\d+\.\d+: .+\n$/);
  assert.equal(status, 2);
});

test('the jobs of README and guides fit the package, and their graphs are sound', () => {
  const pages = globSync('{README.md,docs/guide/*.md}', { cwd: ROOT });
  // These are followed from beginning to end by tests of their own.
  const isFollowed = (page: string): boolean => /\/(testing|writing-a-sink)\.md$/.test(page);
  const jobs = jobsOfPages(pages.filter((page) => !isFollowed(page)));
  for (const { name, code } of jobs) writeFileSync(join(project, name), code);
  // The page on upgrading says that it is installed beside the job.
  symlinkSync(join(ROOT, 'node_modules/zod'), join(project, 'node_modules/zod'));
  const compilerOptions = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    module: 'nodenext',
    target: 'es2024',
    types: [],
    noEmit: true,
  };
  const config = { compilerOptions, files: jobs.map(({ name }) => name) };
  writeFileSync(join(project, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  const types = run(process.execPath, [compiler]);
  assert.equal(types.status, 0, types.stdout + types.stderr);

  assert.ok(jobs.length >= 10, `only ${jobs.length} blocks were found`);
  for (const { name, page } of jobs.filter(({ isJob }) => isJob)) {
    const { status, stdout, stderr } = run(weir, [
      'explain',
      name,
      '--input',
      'i',
      '--output',
      'o',
    ]);
    assert.equal(status, 0, `${page}, as ${basename(name)}: ${stdout}${stderr}`);
  }
});

test('the configuration file that the guide shows is accepted', () => {
  const page = readFileSync(join(ROOT, 'docs/guide/configuration.md'), 'utf8');
  const [file, ...others] = codeBlocks(page).filter(({ language }) => language === 'yaml');
  assert.deepEqual(others, []);
  writeFileSync(join(project, 'shown.yaml'), file?.text ?? '');
  const job = ['word-count.ts', '--input', 'i', '--output', 'o'];
  const { status, stderr } = run(weir, ['explain', '--config', 'shown.yaml', ...job]);
  assert.equal(status, 0, stderr);
});
