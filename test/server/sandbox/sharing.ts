/** A Python program whose processes share memory in each way that `multiprocessing` has. */
export const SHARING = `import multiprocessing as m
from multiprocessing import shared_memory
from concurrent.futures import ProcessPoolExecutor
def add(lock, total):
    for _ in range(100):
        with lock: total.value += 1
def double(x): return 2 * x
if __name__ == '__main__':
    lock, total = m.Lock(), m.Value('i', 0, lock=False)
    workers = [m.Process(target=add, args=(lock, total)) for _ in range(3)]
    for one in workers: one.start()
    for one in workers: one.join()
    queue = m.Queue(); queue.put('queued')
    block = shared_memory.SharedMemory(create=True, size=8); block.buf[0] = 7
    with ProcessPoolExecutor(2) as pool: doubled = list(pool.map(double, [1, 2]))
    print(total.value, queue.get(), block.buf[0], doubled)
    block.close(); block.unlink()
`;
