// A host of the schema "alder".
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/alder"
)

func main() {
	host.Main(host.Schema{Name: "alder", Versions: []int{1}, Client: alder.Client})
}
