// A plugin in Go that serves every schema at once, so that the hosts can be tested by themselves.
package main

import (
	"hostler.test/hosts/peer"
	"hostler.test/hosts/schemas/alder"
	"hostler.test/hosts/schemas/birch"
	"hostler.test/hosts/schemas/cedar"
	"hostler.test/hosts/schemas/dogwood2"
	"hostler.test/hosts/schemas/elder"
	"hostler.test/hosts/schemas/fir"
)

func main() {
	peer.Main(
		alder.Serve, birch.Serve, cedar.Serve, dogwood2.Serve, elder.Serve, fir.Serve,
	)
}
