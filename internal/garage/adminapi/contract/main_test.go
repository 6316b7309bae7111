package contract

import (
	"flag"
	"os"
	"testing"
)

// parallel is how many groups of rows run at a time: most of them wait for servers to forget a dead neighbour.
const parallel = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", parallel); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
