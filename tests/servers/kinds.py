"""The servers that the tests run on: versions, images, archives and their checksums."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Artifact:
    """A file of Maven Central: ``group:artifact:version:packaging`` and the SHA-512 it has to have."""

    coordinates: str
    sha512: str

    @property
    def file_name(self) -> str:
        _, name, version, packaging = self.coordinates.split(":")
        return f"{name}-{version}.{packaging}"


@dataclass(frozen=True)
class Kind:
    """A product in one version, and the three ways to have it."""

    name: str
    product: str  # also the name of its program and of its settings file
    version: str
    url_variable: str
    oldest: tuple[int, int]  # what a server behind a URL has to be at least
    image: str
    java: range  # releases of Java that the archive runs on
    archive: Artifact
    mapper_extras: Artifact | None = None  # the module with rank_features, where the archive lacks it

    @property
    def local_image(self) -> str:
        """The image that ``docker/archives/build.sh`` makes."""
        return f"cptw-search/{self.product}:{self.version}"

    def __str__(self) -> str:
        return f"{self.product} {self.version}"


ELASTICSEARCH_7 = Kind(
    name="elasticsearch7",
    product="elasticsearch",
    version="7.17.25",
    url_variable="CPTW_TEST_ELASTICSEARCH_URL",
    oldest=(7, 17),
    image="elasticsearch:7.17.25",
    java=range(17, 24),  # 24 took away the security manager that 7.17 needs
    archive=Artifact(
        "org.elasticsearch.distribution.integ-test-zip:elasticsearch:7.17.25:zip",
        "4db9e1dac76377b24c33e1177ef867a4a7c5db8ff08cbd6919a5dacd17ee41ea"
        "24b9b17b51e1e47e0a1b4b4ced1ae64d1fffea8fc3b5428cfa0a54183e60838e",
    ),
    mapper_extras=Artifact(
        "org.elasticsearch.plugin:mapper-extras-client:7.17.25:jar",
        "5424676cf144d6debb52638fdcb2795d980369b97290f39f72e5d51708d25284"
        "d57c63959ec561557b617d05e00559a609dd6d41b8ecd21ed4b15ed5e907301c",
    ),
)

ELASTICSEARCH_9 = Kind(
    name="elasticsearch9",
    product="elasticsearch",
    version="9.5.3",
    url_variable="CPTW_TEST_ELASTICSEARCH_URL",
    oldest=(8, 15),  # the first with the sparse_vector query
    image="elasticsearch:9.5.3",
    java=range(21, 26),
    archive=Artifact(
        "org.elasticsearch.distribution.integ-test-zip:elasticsearch:9.5.3:zip",
        "ae57654932de854d755af63f2a63667621967870b79ec449407618075c13dc12"
        "012317388e0a232071e4f2a65c9d973bb681d978fac56445a0790443df0823d1",
    ),
)

OPENSEARCH_3 = Kind(
    name="opensearch3",
    product="opensearch",
    version="3.6.0",
    url_variable="CPTW_TEST_OPENSEARCH_URL",
    oldest=(3, 0),
    image="opensearchproject/opensearch:3.6.0",
    java=range(21, 26),
    archive=Artifact(
        "org.opensearch.distribution.integ-test-zip:opensearch:3.6.0:zip",
        "b82066a97902879c47e26608848d068c09e74d2128edee2802e622867abd451d"
        "34a366acc6519d0b40fc97acc89d61c5bb330ab8b2086cf6ffa0f9fe4b9acaa4",
    ),
)

KINDS = (ELASTICSEARCH_7, ELASTICSEARCH_9, OPENSEARCH_3)

if __name__ == "__main__":  # for docker/archives/build.sh
    for kind in KINDS:
        print(kind.name, kind.local_image, kind.product)
