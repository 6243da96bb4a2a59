/**
 * One TypeScript or JavaScript file as the checks see it: its imports, comments and syntax nodes.
 * Everything is read from the syntax tree, so a word inside a string or a comment is never mistaken
 * for code. Parsing is lazy: a check that needs only lines costs no parse.
 */
import { parseSync, visitorKeys } from 'oxc-parser';
import type { ParseResult } from 'oxc-parser';

/** A node of the syntax tree (ESTree with TypeScript's additions), untyped on purpose. */
export interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [key: string]: unknown;
}

export interface Import {
  readonly specifier: string;
  /** Imported names, `*` for a whole namespace; empty for a dynamic import. */
  readonly names: readonly string[];
  readonly dynamic: boolean;
  readonly line: number;
}

export interface Comment {
  readonly text: string;
  readonly line: number;
}

/** A name that the file uses but does not declare: `Date` with member `now` for `Date.now()`. */
export interface GlobalUse {
  readonly name: string;
  readonly member: string | null;
  readonly line: number;
}

export class SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
  readonly #lineStarts: readonly number[];
  #parsed: ParseResult | null = null;
  #nodes: readonly Visited[] | null = null;

  constructor(path: string, text: string) {
    this.path = path;
    this.text = text;
    this.lines = text.replace(/\n$/, '').split('\n');
    const starts = [0];
    for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
    this.#lineStarts = starts;
  }

  /** 1-based line of an offset. */
  lineOf(offset: number): number {
    let low = 0;
    let high = this.#lineStarts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#lineStarts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low + 1;
  }

  /** Syntax errors, as messages. */
  get errors(): readonly string[] {
    return this.#parse().errors.map((error) => error.message);
  }

  get comments(): readonly Comment[] {
    return this.#parse().comments.map((comment) => ({
      text: comment.value,
      line: this.lineOf(comment.start),
    }));
  }

  /** Static imports, re-exports, `import('…')` and `new URL('./…', import.meta.url)`. */
  get imports(): readonly Import[] {
    const found: Import[] = [];
    for (const { node } of this.nodes) {
      const specifier = stringValue(importedModule(node));
      if (specifier === null) continue;
      const names = (node['specifiers'] as SyntaxNode[] | undefined) ?? [];
      found.push({
        specifier,
        names: names.map(importedName),
        dynamic: !node.type.endsWith('Declaration'),
        line: this.lineOf(node.start),
      });
    }
    return found;
  }

  /** Names that are neither declared in the file nor a property, a key or a type. */
  get globals(): readonly GlobalUse[] {
    const declared = new Set<string>();
    const used: { name: string; member: string | null; start: number }[] = [];
    for (const visited of this.nodes) {
      const { node, parent, key } = visited;
      if (node.type !== 'Identifier') continue;
      const name = nameOf(node) ?? '';
      if (isDeclaration(visited)) declared.add(name);
      else if (!isMere(visited)) {
        const isObject = parent?.node.type === 'MemberExpression' && key === 'object';
        const member = isObject ? nameOf(parent.node['property']) : null;
        used.push({ name, member, start: node.start });
      }
    }
    return used
      .filter((use) => !declared.has(use.name))
      .map((use) => ({ name: use.name, member: use.member, line: this.lineOf(use.start) }));
  }

  /** Values of all string literals and pieces of templates. */
  get strings(): readonly { readonly value: string; readonly line: number }[] {
    const found: { value: string; line: number }[] = [];
    for (const { node } of this.nodes) {
      const value = node.type === 'TemplateElement' ? cooked(node) : stringValue(node);
      if (value !== null) found.push({ value, line: this.lineOf(node.start) });
    }
    return found;
  }

  /** Every node with its parent, in the order of the text. */
  get nodes(): readonly Visited[] {
    if (this.#nodes === null) {
      const nodes: Visited[] = [];
      visit({ node: this.#parse().program as unknown as SyntaxNode, parent: null, key: '' }, nodes);
      this.#nodes = nodes;
    }
    return this.#nodes;
  }

  #parse(): ParseResult {
    this.#parsed ??= parseSync(this.path, this.text, { sourceType: 'module' });
    return this.#parsed;
  }
}

/** A node and the way to it. */
export interface Visited {
  readonly node: SyntaxNode;
  readonly parent: Visited | null;
  /** The property of the parent that holds the node. */
  readonly key: string;
}

function visit(visited: Visited, into: Visited[]): void {
  into.push(visited);
  const { node } = visited;
  for (const key of visitorKeys[node.type] ?? []) {
    const child = node[key];
    for (const one of Array.isArray(child) ? child : [child])
      if (isNode(one)) visit({ node: one, parent: visited, key }, into);
  }
}

export function isNode(value: unknown): value is SyntaxNode {
  return typeof value === 'object' && value !== null && 'type' in value;
}

/** The name of an identifier, or `null` for any other node. */
export function nameOf(node: unknown): string | null {
  return isNode(node) && typeof node['name'] === 'string' ? node['name'] : null;
}

/** The value of a string literal, or `null` for any other node. */
export function stringValue(node: unknown): string | null {
  return isNode(node) && node.type === 'Literal' && typeof node['value'] === 'string'
    ? node['value']
    : null;
}

function cooked(node: SyntaxNode): string {
  return String((node['value'] as { cooked?: string | null }).cooked ?? '');
}

/** The text of a string literal or template; a placeholder reads as one blank. */
export function textOf(node: unknown): string | null {
  if (isNode(node) && node.type === 'TemplateLiteral')
    return (node['quasis'] as SyntaxNode[]).map(cooked).join(' ');
  if (isNode(node) && node.type === 'BinaryExpression') {
    const parts = [textOf(node['left']), textOf(node['right'])];
    return parts.includes(null) ? null : parts.join('');
  }
  return stringValue(node);
}

function importedName(specifier: SyntaxNode): string {
  if (specifier.type === 'ImportNamespaceSpecifier') return '*';
  if (specifier.type === 'ImportDefaultSpecifier') return 'default';
  return nameOf(specifier['imported'] ?? specifier['local']) ?? '*';
}

/** The node that names the module which `node` imports, if it imports one. */
function importedModule(node: SyntaxNode): unknown {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportNamedDeclaration':
    case 'ExportAllDeclaration':
    case 'ImportExpression':
      return node['source'];
    case 'TSImportType':
      return node['source'] ?? node['argument'];
    case 'NewExpression': {
      const [path, base] = (node['arguments'] as SyntaxNode[] | undefined) ?? [];
      const isUrl = nameOf(node['callee']) === 'URL' && base?.type === 'MemberExpression';
      return isUrl && stringValue(path)?.startsWith('.') === true ? path : null;
    }
    default:
      return null;
  }
}

const FUNCTIONS: ReadonlySet<string> = new Set([
  'FunctionDeclaration',
  'FunctionExpression',
  'ArrowFunctionExpression',
  'TSDeclareFunction',
  'TSEmptyBodyFunctionExpression',
  'TSFunctionType',
]);

/** Whether an identifier introduces a name of the file: variable, parameter, import, class. */
function isDeclaration({ parent, key }: Visited): boolean {
  if (parent === null) return false;
  const { type } = parent.node;
  if (type === 'VariableDeclarator' || type.startsWith('Class')) return key === 'id';
  if (FUNCTIONS.has(type)) return key === 'id' || key === 'params';
  if (type === 'CatchClause') return key === 'param';
  if (type.startsWith('Import')) return key === 'local';
  if (type === 'AssignmentPattern') return key === 'left';
  if (type === 'RestElement' || type === 'ArrayPattern') return true;
  return type === 'Property' && key === 'value' && parent.parent?.node.type === 'ObjectPattern';
}

/** Whether an identifier is a property name, a key, a label or part of a type, not a value. */
function isMere({ parent, key }: Visited): boolean {
  if (parent === null) return false;
  const { type } = parent.node;
  if (type.startsWith('TS')) return !type.endsWith('Expression');
  if (type.endsWith('Specifier') || type.startsWith('Label')) return true;
  const isName = key === 'property' || key === 'key';
  return isName && parent.node['computed'] !== true;
}
