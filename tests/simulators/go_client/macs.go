package main

import (
	"errors"
	"strings"
	"time"

	applesilicon "github.com/scaleway/scaleway-sdk-go/api/applesilicon/v1alpha1"
	"github.com/scaleway/scaleway-sdk-go/scw"
)

// macs goes through one life of a Mac: ordered, renamed, wiped, let into a network, and ended.
func macs(client *scw.Client) {
	api, networks := applesilicon.NewAPI(client), applesilicon.NewPrivateNetworkAPI(client)
	quick := time.Millisecond * 50
	sort, err := api.GetServerType(&applesilicon.GetServerTypeRequest{ServerType: "M2-L"})
	check("get type of Mac", err)
	expect("a type has a lease, a default image and stock", sort.MinimumLeaseDuration.Seconds == 86400 &&
		sort.DefaultOs.Family == "Tahoe" && sort.Stock == applesilicon.ServerTypeStockHighStock)
	types, err := api.ListServerTypes(&applesilicon.ListServerTypesRequest{})
	check("list types of Macs", err)
	expect("there are several", len(types.ServerTypes) > 1)
	images, err := api.ListOS(&applesilicon.ListOSRequest{
		ServerType: scw.StringPtr("M2-L"), Name: scw.StringPtr("macos-sequoia")}, scw.WithAllPages())
	check("list images", err)
	expect("images are found by the beginning of their name", len(images.Os) == 2)
	image, err := api.GetOS(&applesilicon.GetOSRequest{OsID: images.Os[1].ID})
	check("get image", err)

	runner, err := api.CreateRunner(&applesilicon.CreateRunnerRequest{
		RunnerConfiguration: &applesilicon.RunnerConfigurationV2{
			Name: "ci", Provider: applesilicon.RunnerConfigurationV2ProviderGithub,
			GithubConfiguration: &applesilicon.GithubRunnerConfiguration{
				URL: "https://example.com", Token: "t", Labels: []string{"mac"}}}})
	check("create runner", err)
	made, err := api.CreateServer(&applesilicon.CreateServerRequest{
		Name: "pool-1", Type: "M2-L", EnableVpc: true,
		CommitmentType: applesilicon.CommitmentTypeDuration24h})
	check("order Mac", err)
	expect("its password is shown once", made.SudoPassword != "" && made.SudoPassword != "<sealed>")
	wait := &applesilicon.WaitForServerRequest{ServerID: made.ID, RetryInterval: &quick}
	mac, err := api.WaitForServer(wait)
	check("wait for Mac", err)
	expect("it is ready, delivered, and has an end", mac.Status == applesilicon.ServerStatusReady &&
		mac.Delivered && mac.DeletableAt != nil && mac.IP != nil)
	batch, err := api.BatchCreateServers(&applesilicon.BatchCreateServersRequest{
		Type: "M2-L", CommitmentType: applesilicon.CommitmentTypeDuration24h,
		Requests: []*applesilicon.BatchCreateServersRequestBatchInnerCreateServerRequest{
			{Name: "pool-2"}, {Name: "pool-3"}}})
	check("order Macs", err)
	listed, err := api.ListServers(&applesilicon.ListServersRequest{
		PageSize: scw.Uint32Ptr(2), OrderBy: applesilicon.ListServersRequestOrderByCreatedAtDesc},
		scw.WithAllPages())
	check("list Macs", err)
	expect("the newest comes first", len(listed.Servers) == 3 && len(batch.Servers) == 2 &&
		listed.Servers[2].ID == mac.ID)

	mac, err = api.UpdateServer(&applesilicon.UpdateServerRequest{
		ServerID: mac.ID, Name: scw.StringPtr("mine"),
		AppliedRunnerConfigurations: &applesilicon.AppliedRunnerConfigurations{
			RunnerConfigurationIDs: []string{runner.ID}}})
	check("rename Mac", err)
	expect("it is renamed and nothing else", mac.Name == "mine" && !mac.DeletionScheduled &&
		mac.VpcStatus == applesilicon.ServerPrivateNetworkStatusVpcEnabled &&
		len(mac.AppliedRunnerConfigurationIDs) == 1)
	runner, err = api.WaitForRunner(&applesilicon.WaitForRunnerRequest{RunnerID: runner.ID, RetryInterval: &quick})
	check("wait for runner", err)
	expect("it is enabled", runner.Status == applesilicon.RunnerStatusEnabled)
	of, err := api.ListRunners(&applesilicon.ListRunnersRequest{ServerID: &mac.ID}, scw.WithAllPages())
	check("list runners", err)
	expect("the Mac has it", len(of.Runners) == 1 && of.Runners[0].Configuration.GithubConfiguration != nil)
	check("delete runner", api.DeleteRunner(&applesilicon.DeleteRunnerRequest{RunnerID: runner.ID}))

	joined(networks, mac.ID, quick)
	diagnosed(api, mac.ID, quick)
	_, err = api.RebootServer(&applesilicon.RebootServerRequest{ServerID: mac.ID})
	check("reboot Mac", err)
	var transient *scw.TransientStateError
	_, err = api.ReinstallServer(&applesilicon.ReinstallServerRequest{ServerID: mac.ID})
	expect("a wipe in a reboot is a TransientStateError that names the state",
		errors.As(err, &transient) && transient.CurrentState == "rebooting" && transient.ResourceID == mac.ID)
	_, err = api.WaitForServer(wait)
	check("wait for reboot", err)
	mac, err = api.ReinstallServer(&applesilicon.ReinstallServerRequest{ServerID: mac.ID, OsID: &image.ID})
	check("reinstall Mac", err)
	expect("it is reinstalling", mac.Status == applesilicon.ServerStatusReinstalling && mac.Delivered)
	mac, err = api.WaitForServer(wait)
	check("wait for reinstallation", err)
	expect("it has the image", mac.Os.ID == image.ID)
	ended(api, mac.ID)
}

// joined lets a Mac into a network and out of it.
func joined(networks *applesilicon.PrivateNetworkAPI, id string, quick time.Duration) {
	_, err := networks.AddServerPrivateNetwork(&applesilicon.PrivateNetworkAPIAddServerPrivateNetworkRequest{
		ServerID: id, PrivateNetworkID: absent})
	check("join network", err)
	found, err := networks.WaitForServerPrivateNetworks(&applesilicon.WaitForServerRequest{
		ServerID: id, RetryInterval: &quick})
	check("wait for network", err)
	for tries := 0; found[0].Vlan == nil && tries < 10; tries++ {
		one, err := networks.GetServerPrivateNetwork(&applesilicon.PrivateNetworkAPIGetServerPrivateNetworkRequest{
			ServerID: id, PrivateNetworkID: absent})
		check("look at network", err)
		found[0] = one
	}
	expect("it has a VLAN and an address", found[0].Vlan != nil && len(found[0].IpamIPIDs) == 1)
	set, err := networks.SetServerPrivateNetworks(&applesilicon.PrivateNetworkAPISetServerPrivateNetworksRequest{
		ServerID: id, PerPrivateNetworkIpamIPIDs: map[string]*[]string{project: {"ip"}}})
	check("set networks", err)
	expect("it is in the other one", set.ServerPrivateNetworks[0].PrivateNetworkID == project)
	check("leave network", networks.DeleteServerPrivateNetwork(
		&applesilicon.PrivateNetworkAPIDeleteServerPrivateNetworkRequest{
			ServerID: id, PrivateNetworkID: project}))
}

// diagnosed looks at the health of a Mac.
func diagnosed(api *applesilicon.API, id string, quick time.Duration) {
	started, err := api.StartConnectivityDiagnostic(&applesilicon.StartConnectivityDiagnosticRequest{ServerID: id})
	check("start diagnostic", err)
	for tries := 0; ; tries++ {
		found, err := api.GetConnectivityDiagnostic(&applesilicon.GetConnectivityDiagnosticRequest{
			DiagnosticID: started.DiagnosticID})
		check("get diagnostic", err)
		if found.Status == applesilicon.ConnectivityDiagnosticDiagnosticStatusCompleted || tries > 100 {
			expect("it is healthy", found.IsHealthy && found.HealthDetails.IsSSHPortUp)
			return
		}
		time.Sleep(quick)
	}
}

// ended asks for the end of a Mac before its date, and lets it be scheduled.
func ended(api *applesilicon.API, id string) {
	err := api.DeleteServer(&applesilicon.DeleteServerRequest{ServerID: id})
	var refused *scw.PreconditionFailedError
	expect("a deletion before its date is a PreconditionFailedError that names the date",
		errors.As(err, &refused) && strings.Contains(refused.HelpMessage, "cannot be deleted before"))
	mac, err := api.UpdateServer(&applesilicon.UpdateServerRequest{
		ServerID: id, ScheduleDeletion: scw.BoolPtr(true),
		CommitmentType: &applesilicon.CommitmentTypeValue{CommitmentType: applesilicon.CommitmentTypeNone}})
	check("schedule deletion", err)
	expect("it is scheduled, and renewed no more", mac.DeletionScheduled && mac.Commitment.Cancelled)
	_, err = api.GetServer(&applesilicon.GetServerRequest{ServerID: absent})
	var notFound *scw.ResourceNotFoundError
	expect("an unknown Mac is a ResourceNotFoundError", errors.As(err, &notFound))
	_, err = api.CreateServer(&applesilicon.CreateServerRequest{
		Name: "no", Type: "M4-S", CommitmentType: applesilicon.CommitmentTypeDuration24h})
	var out *scw.OutOfStockError
	expect("what is out of stock is an OutOfStockError", errors.As(err, &out))
}
