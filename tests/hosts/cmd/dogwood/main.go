// A host of the schema "dogwood": two versions are in the binary, and the second is called.
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/dogwood2"
)

func main() {
	host.Main(host.Schema{Name: "dogwood", Versions: []int{1, 2}, Client: dogwood2.Client})
}
