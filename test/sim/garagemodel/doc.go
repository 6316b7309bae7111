// Package garagemodel is a model of Garage as far as a drain has to do with it, in virtual time: the versions of the layout and
// their trackers, rows of tables and the queues behind them, counts of references, files of blocks, the queue of blocks to
// check and the worker that checks them, repairs, and writes with quorums. Random histories of it, with package fault for the
// controller's calls, say whether a source is ever destroyed that somebody still needs. It decides with package drain; the
// controller that carries the plans out is a stand-in, which writes the journal, reads again, decides again, and then acts.
//
// What is as in earnest (Garage server facts, 3 Layout and drain machinery; Garage lab): each node knows of the layout what it
// has heard, and counts a version as over by its own view of the trackers. A node acknowledges a version when it writes
// under no older one any more. Sync compares what is in the tree of rows, which comes to it a little later. A write quorum
// of each set is enough for a version to be over; so a node can keep rows that nobody else has, and offloads them later, one
// after the other, to all of those that are to have them. A row that goes lowers a count; at zero a block is looked at 610
// seconds later, offered to all that need it, and deleted. A row that comes has a block fetched 600 seconds later, and a
// repair of blocks at once. What a process only remembers ends with it.
//
// What is not modelled: two versions of one number with different content, wrong bytes, more than one worker that checks blocks,
// more than two tables, and tombstones that are cleared away. A loss of power takes what the last minute brought: with three
// copies rows and blocks, with fewer only blocks, as if the metadata were kept with fsync. Whoever gives the source a
// role back after its deletion was taken is not stopped by anything, and does not occur.
package garagemodel
