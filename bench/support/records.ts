/** The records of the rows, made afresh from an index, and the keys they carry. */

export interface Order {
  readonly id: number;
  readonly key: number | string;
  readonly name: string;
  readonly amount: number;
  readonly open: boolean;
}

const NAMES = ['amsterdam', 'berlin', 'cairo', 'dakar', 'edinburgh', 'florence', 'geneva', 'hanoi'];

/** Spreads indexes over `keys` keys without order. */
function spread(index: number, keys: number): number {
  return (Math.imul(index, 0x9e3779b1) >>> 0) % keys;
}

export type MakeRecord = (index: number) => Order;

/** Keys are small integers. */
export function intOrders(keys: number): MakeRecord {
  return (index) => ({
    id: index,
    key: spread(index, keys),
    name: NAMES[index & 7] as string,
    amount: index * 0.25,
    open: (index & 1) === 0,
  });
}

/** Keys are strings of 16 characters, each made anew. */
export function stringOrders(keys: number): MakeRecord {
  return (index) => ({
    id: index,
    key: `customer-${1_000_000 + spread(index, keys)}`,
    name: NAMES[index & 7] as string,
    amount: index * 0.25,
    open: (index & 1) === 0,
  });
}

const VARIANTS = 64;

/** Records of 64 shapes in turn without order: none is worth a codec of its own. */
export function shapelessOrders(keys: number): MakeRecord {
  const makers = Array.from({ length: VARIANTS }, (_, variant) => {
    const fields = `id: index, key, name${variant}: name, amount, open${variant}: open`;
    // oxlint-disable-next-line typescript/no-implied-eval -- the text is made of constants
    return new Function('index', 'key', 'name', 'amount', 'open', `return { ${fields} };`) as (
      ...fields: readonly unknown[]
    ) => Order;
  });
  return (index) => {
    const variant = Math.imul(index, 0x85ebca6b) >>> 26;
    const make = makers[variant] as (...fields: readonly unknown[]) => Order;
    return make(index, spread(index, keys), NAMES[index & 7], index * 0.25, (index & 1) === 0);
  };
}

export function ordersOf(kind: string, keys: number): MakeRecord {
  switch (kind) {
    case 'int':
      return intOrders(keys);
    case 'string':
      return stringOrders(keys);
    case 'shapeless':
      return shapelessOrders(keys);
    default:
      throw new Error(`no records of kind ${kind}`);
  }
}
