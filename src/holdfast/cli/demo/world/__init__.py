"""`holdfast demo`: all demos in one world, on one server, with the dashboard; killed and checked.

part      what each demo is here: it goes on, bears faults, tells its numbers, is checked
ground    what all parts stand on: server, database, folder, time
parts     who is in the world
world     their life: begun, looked after, brought to an end, checked
nemesis   what is killed, and when
gauge     what it costs: memory, files, connections; course: whether that grew; kept: by block
site      the dashboard; visitor: who looks at it while all is checked
picture   the screen; table: the verdicts
command   `holdfast demo` itself
"""
