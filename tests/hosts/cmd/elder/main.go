// A host of the schema "elder".
package main

import (
	"hostler.test/hosts/host"
	"hostler.test/hosts/schemas/elder"
)

func main() {
	host.Main(host.Schema{Name: "elder", Versions: []int{5}, Client: elder.Client})
}
