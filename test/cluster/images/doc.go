// Package images makes OCI image archives from binaries, without a registry and without a container engine:
// the images that the local cluster runs, and those of the product that a user would push.
//
// An archive is the tar of an OCI image layout, which `ctr images import`, skopeo and crane read. Its index
// names the image and the digest of everything it was made from, so an archive that is up to date is
// recognised and left alone, and equal inputs give equal bytes.
package images
