// A host of the schema "dogwood" that calls the first version, with the second in its binary too.
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/dogwood1"
	_ "hostler.test/hosts/schemas/dogwood2"
)

func main() {
	host.Main(host.Schema{Name: "dogwoodold", Versions: []int{1}, Client: dogwood1.Client})
}
