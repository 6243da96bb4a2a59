/** What README and the tutorial tell a new user to do works, step by step, from the package. */
import assert from 'node:assert/strict';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, test } from 'node:test';
import { codeBlocks, isForCheckout, isShownBy } from '../package/code-blocks.ts';
import type { CodeBlock } from '../package/code-blocks.ts';
import { packCore, ROOT, withEmptyFolder } from '../package/installed-package.ts';
import { shownFor, walkThrough } from '../package/walkthrough.ts';

/** Where the pages say that the tarball is. */
const PACKED_TO = '/tmp/weir/';
const LIMIT_MS = 180_000;

const packed = mkdtempSync(join(tmpdir(), 'weir-packed-'));
let tarball = '';

before(() => {
  tarball = packCore(packed);
});
after(() => rmSync(packed, { recursive: true, force: true }));

function blocksOf(page: string): CodeBlock[] {
  return codeBlocks(textOf(page));
}

function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

for (const page of ['README.md', 'docs/guide/first-job.md'])
  test(`following ${page} from an empty folder works, and prints what it shows`, async () => {
    const blocks = blocksOf(page);
    const replace = { [PACKED_TO]: `${dirname(tarball)}/` };
    const { steps, fault } = await withEmptyFolder((folder) =>
      walkThrough(blocks, { folder, replace, limitMs: LIMIT_MS }),
    );
    if (fault !== null) assert.fail(`${page}, ${fault}`);
    // Else a page whose blocks were not recognised would pass.
    const typed = steps.map(({ block }) => block.text).join('');
    for (const part of [`${PACKED_TO}${basename(tarball)}`, 'weir run', 'kill -9', 'weir inspect'])
      assert.ok(typed.includes(part), `${page} has no block with ${part}`);
    const printed = steps.map(({ output }) => output).join('');
    assert.match(printed, /resumes from checkpoint \d+/);
    assert.ok(blocks.filter((block) => shownFor(blocks, block) !== null).length >= 3);
  });

test('README begins with the commands for demo and tests', () => {
  const [first, second] = blocksOf('README.md').filter(isForCheckout);
  assert.equal(first?.text, 'npm ci && npm run demo\n');
  assert.equal(second?.text, 'npm ci && npm test\n');
});

test('output is compared line by line, with an ellipsis for what differs from run to run', () => {
  assert.ok(isShownBy('checkpoint … of job a\n…\nend', 'checkpoint 7 of job a\nx\ny\nend\n'));
  assert.ok(isShownBy('…\nend', 'end'));
  assert.ok(isShownBy('a (b) [c]*', 'a (b) [c]*'));
  for (const output of ['checkpoint 7 of job b\nend', 'first\ncheckpoint 7 of job a\nend'])
    assert.ok(!isShownBy('checkpoint … of job a\n…\nend', output));
  assert.ok(!isShownBy('0', '0\n1'));
});

const PAGES = ['*.md', 'docs/{guide,reference,adr}/*.md'];

test('every page that is linked exists, and so does every heading', () => {
  const pages = globSync(PAGES, { cwd: ROOT });
  let links = 0;
  for (const page of pages) {
    for (const [, path = '', heading] of textOf(page).matchAll(
      /\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)/g,
    )) {
      links++;
      const target = path === '' ? page : join(dirname(page), path);
      assert.ok(existsSync(join(ROOT, target)), `${page} links to ${target}, which is not there`);
      if (heading !== undefined)
        assert.ok(headingsOf(target).includes(heading), `${page}: ${target} has no #${heading}`);
    }
  }
  assert.ok(links > 30, `only ${links} links were found`);
});

test('every file that ARCHITECTURE.md names exists', () => {
  const named = [...textOf('ARCHITECTURE.md').matchAll(/`([\w./-]+\.ts)`/g)].map(
    ([, path]) => path!,
  );
  assert.ok(named.length > 40);
  const folders = ['packages/core/src', 'packages/core/src/protocol/checkpoint', '.'];
  const isThere = (path: string): boolean =>
    folders.some((folder) => existsSync(join(ROOT, folder, path)));
  assert.deepEqual(
    named.filter((path) => !isThere(path)),
    [],
  );
});

/** As they are linked to. */
function headingsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .replaceAll(' ', '-'),
  );
}
