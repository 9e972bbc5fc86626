// A host of the schema "cedar".
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/cedar"
)

func main() {
	host.Main(host.Schema{Name: "cedar", Versions: []int{4}, Client: cedar.Client})
}
