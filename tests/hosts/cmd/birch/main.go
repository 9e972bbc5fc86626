// A host of the schema "birch".
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/birch"
)

func main() {
	host.Main(host.Schema{Name: "birch", Versions: []int{0, 7}, Client: birch.Client})
}
