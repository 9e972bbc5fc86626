// The official Go client, unmodified, through one life of a server and of a Mac on a simulated Scaleway.
//
// Usage: SCW_API_URL=http://127.0.0.1:8100 go run .
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	block "github.com/scaleway/scaleway-sdk-go/api/block/v1"
	iam "github.com/scaleway/scaleway-sdk-go/api/iam/v1alpha1"
	instance "github.com/scaleway/scaleway-sdk-go/api/instance/v1"
	marketplace "github.com/scaleway/scaleway-sdk-go/api/marketplace/v2"
	"github.com/scaleway/scaleway-sdk-go/scw"
)

const (
	zone    = scw.ZoneFrPar1
	project = "0b5e6f1a-5d3c-4f0e-9a51-3c1f7d2e8a10"
	absent  = "aaaaaaaa-0000-4000-8000-000000000000"
)

// check ends the program where a step went wrong.
func check(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %T %v\n", what, err, err)
		os.Exit(1)
	}
	fmt.Println("ok  ", what)
}

// expect ends the program where something does not hold.
func expect(what string, holds bool) {
	if !holds {
		check(what, errors.New("does not hold"))
	}
	fmt.Println("ok  ", what)
}

func main() {
	client, err := scw.NewClient(
		scw.WithAPIURL(os.Getenv("SCW_API_URL")),
		scw.WithAuth("SCWXXXXXXXXXXXXXXXXX", "11111111-2222-4333-8444-555555555555"),
		scw.WithDefaultProjectID(project), scw.WithDefaultOrganizationID(project),
		scw.WithDefaultZone(zone), scw.WithDefaultRegion(scw.RegionFrPar),
	)
	check("client", err)
	quick := time.Millisecond * 50
	scwait := &quick
	servers, volumes := instance.NewAPI(client), block.NewAPI(client)

	keys := iam.NewAPI(client)
	key, err := keys.CreateSSHKey(&iam.CreateSSHKeyRequest{
		Name: "k", PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA", ProjectID: project})
	check("create key", err)
	listed, err := keys.ListSSHKeys(&iam.ListSSHKeysRequest{}, scw.WithAllPages())
	check("list keys", err)
	expect("the key is listed", len(listed.SSHKeys) == 1)
	check("delete key", keys.DeleteSSHKey(&iam.DeleteSSHKeyRequest{SSHKeyID: key.ID}))

	kind, err := servers.GetServerType(&instance.GetServerTypeRequest{Zone: zone, Name: "L4-1-24G"})
	check("get server type", err)
	expect("a type beyond the first page is found", kind != nil)
	image, err := marketplace.NewAPI(client).GetLocalImageByLabel(&marketplace.GetLocalImageByLabelRequest{
		ImageLabel: "ubuntu_noble", Zone: zone, CommercialType: "DEV1-S",
		Type: marketplace.LocalImageTypeInstanceSbs})
	check("image by label", err)

	four, err := servers.CreateIP(&instance.CreateIPRequest{
		Type: instance.IPTypeRoutedIPv4, Tags: []string{"a"}})
	check("create IPv4", err)
	six, err := servers.CreateIP(&instance.CreateIPRequest{
		Type: instance.IPTypeRoutedIPv6, Tags: []string{"a"}})
	check("create IPv6", err)
	expect("an IPv6 has a prefix", six.IP.Prefix.IP != nil)
	_, err = servers.GetIP(&instance.GetIPRequest{IP: four.IP.Address.String()})
	check("get IP by address", err)

	made, err := servers.CreateServer(&instance.CreateServerRequest{
		Name: "worker", CommercialType: "DEV1-S", Image: scw.StringPtr("ubuntu_noble"),
		DynamicIPRequired: scw.BoolPtr(false), Tags: []string{"a", "b"},
		Volumes: map[string]*instance.VolumeServerTemplate{
			"0": {VolumeType: instance.VolumeVolumeTypeSbsVolume}},
		PublicIPs: &[]string{four.IP.ID, six.IP.ID}})
	check("create server by label", err)
	server := made.Server
	expect("the label was resolved", server.Image.ID == image.ID)
	expect("it is stopped with two addresses",
		server.State == instance.ServerStateStopped && len(server.PublicIPs) == 2)

	// Without volumes the client asks for images of any type, and takes the first that fits.
	plain, err := servers.CreateServer(&instance.CreateServerRequest{
		Name: "plain", CommercialType: "DEV1-S", Image: scw.StringPtr("ubuntu_noble")})
	check("create server by label, without volumes", err)
	expect("its image is the first one", plain.Server.Volumes["0"].VolumeType == instance.VolumeServerVolumeTypeLSSD)
	check("delete a stopped server", servers.DeleteServer(&instance.DeleteServerRequest{
		ServerID: plain.Server.ID}))
	check("delete the volume that it left", servers.DeleteVolume(&instance.DeleteVolumeRequest{
		VolumeID: plain.Server.Volumes["0"].ID}))

	volume := server.Volumes["0"].ID
	tags := []string{"a"}
	_, err = volumes.UpdateVolume(&block.UpdateVolumeRequest{
		VolumeID: volume, Name: scw.StringPtr("root"), Tags: &tags, PerfIops: scw.Uint32Ptr(15000)})
	check("update block volume", err)
	_, err = volumes.WaitForVolumeAndReferences(&block.WaitForVolumeAndReferencesRequest{
		VolumeID: volume, RetryInterval: scwait})
	check("wait for volume and references", err)
	check("set user data", servers.SetServerUserData(&instance.SetServerUserDataRequest{
		ServerID: server.ID, Key: "cloud-init", Content: strings.NewReader("#cloud-config\n")}))
	content, err := servers.GetServerUserData(&instance.GetServerUserDataRequest{
		ServerID: server.ID, Key: "cloud-init"})
	check("get user data", err)
	text, err := io.ReadAll(content)
	expect("user data comes back", err == nil && string(text) == "#cloud-config\n")

	_, err = servers.ServerAction(&instance.ServerActionRequest{
		ServerID: server.ID, Action: instance.ServerActionPoweroff})
	var precondition *scw.PreconditionFailedError
	expect("poweroff of a stopped server is a PreconditionFailedError", errors.As(err, &precondition))
	check("power on and wait", servers.ServerActionAndWait(&instance.ServerActionAndWaitRequest{
		ServerID: server.ID, Action: instance.ServerActionPoweron, RetryInterval: scwait}))
	found, err := servers.ListServers(&instance.ListServersRequest{
		Tags: []string{"a", "b"}, PerPage: scw.Uint32Ptr(1)}, scw.WithAllPages())
	check("list servers", err)
	expect("it is listed as running",
		len(found.Servers) == 1 && found.Servers[0].State == instance.ServerStateRunning)
	nic, err := servers.CreatePrivateNIC(&instance.CreatePrivateNICRequest{
		ServerID: server.ID, PrivateNetworkID: absent})
	check("create private NIC", err)
	_, err = servers.WaitForPrivateNIC(&instance.WaitForPrivateNICRequest{
		ServerID: server.ID, PrivateNicID: nic.PrivateNic.ID, RetryInterval: scwait})
	check("wait for private NIC", err)
	err = volumes.DeleteVolume(&block.DeleteVolumeRequest{VolumeID: volume})
	expect("a volume in use is a PreconditionFailedError", errors.As(err, &precondition))

	_, err = servers.ServerAction(&instance.ServerActionRequest{
		ServerID: server.ID, Action: instance.ServerActionTerminate})
	check("terminate", err)
	var notFound *scw.ResourceNotFoundError
	for tries := 0; tries < 400; tries++ {
		_, err = servers.GetServer(&instance.GetServerRequest{ServerID: server.ID})
		if err != nil {
			break
		}
		time.Sleep(quick)
	}
	expect("a terminated server is a ResourceNotFoundError", errors.As(err, &notFound))
	check("delete volume", volumes.DeleteVolume(&block.DeleteVolumeRequest{VolumeID: volume}))
	check("delete IPv4 by address", servers.DeleteIP(&instance.DeleteIPRequest{
		IP: four.IP.Address.String()}))
	check("delete IPv6 by id", servers.DeleteIP(&instance.DeleteIPRequest{IP: six.IP.ID}))
	_, err = servers.CreateServer(&instance.CreateServerRequest{
		Name: "no", CommercialType: "DEV1-S", Image: scw.StringPtr(absent)})
	expect("an unknown image is a ResourceNotFoundError", errors.As(err, &notFound))

	macs(client)
}
