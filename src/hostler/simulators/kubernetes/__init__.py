"""A fake of an API server of Kubernetes: kinds, versions, watches, apply, in process.

`server.KubernetesServer` is the core: requests in, answers and watches out, under any clock.
`http.serve` puts it behind a loopback socket:

    server = KubernetesServer(clock, Random(1))
    async with serve(server) as served:
        served.url, served.kubeconfig()     # what a client needs
"""
