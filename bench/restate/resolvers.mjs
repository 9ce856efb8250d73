// Node 20 lacks what the SDK asks of Node 22.
Promise.withResolvers ??= function withResolvers() {
  let resolve, reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};
