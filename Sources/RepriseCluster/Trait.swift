#if !Cluster
    #error(
        "RepriseCluster needs the trait Cluster of the package reprise: .package(url: …, traits: [\"Cluster\"])"
    )
#endif
