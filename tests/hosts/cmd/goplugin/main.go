// A plugin in Go that serves the schema "alder", for the benchmark.
package main

import (
	"hostler.test/hosts/peer"
	"hostler.test/hosts/schemas/alder"
)

func main() {
	peer.Main(alder.Serve)
}
