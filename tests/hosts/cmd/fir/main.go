// A host of the schema "fir".
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/fir"
)

func main() {
	host.Main(host.Schema{Name: "fir", Versions: []int{6}, Client: fir.Client})
}
