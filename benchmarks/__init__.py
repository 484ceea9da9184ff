"""Programs that measure byheart: `python -m benchmarks` lists them, with a name it runs one.

A benchmark is a module with `measure(options)`, which returns what NAME.json records, and
`markdown(results)`, which turns that record into the tables between `<!-- NAME:begin -->` and
`<!-- NAME:end -->` of a page. `missed(results)`, where there is one, lists limits that do not hold.
"""
